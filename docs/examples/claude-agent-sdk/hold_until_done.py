"""A session of the Claude Agent SDK that watchdog holds until its checks pass.

    pip install claude-agent-sdk
    cd my-project && watchdog trust && python3 hold_until_done.py "do the task in PROMPT.md"

Every hook hands its input to `watchdog hook`, and its answer back. The SDK has no hook for the beginning and the end of a session, so
those two are told to watchdog here: the beginning records where the work starts, and says what done means.
"""

import asyncio
import json
import os
import sys
import uuid
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, ResultMessage, query

# Where watchdog is, and how long it may take: the commands of your checks need this long. The SDK waits a little longer.
WATCHDOG = os.environ.get("WATCHDOG", "watchdog")
SECONDS = 300


async def ask_watchdog(event: str, told: dict[str, Any], *options: str) -> dict[str, Any]:
    """Calls one hook. Whatever goes wrong lets the agent go on, and is shown to the user."""
    try:
        process = await asyncio.create_subprocess_exec(
            WATCHDOG, "-C", os.getcwd(), "hook", event, *options,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE)
        answer, _ = await process.communicate(json.dumps(told).encode())
        return json.loads(answer)
    except (OSError, ValueError) as error:
        return {"systemMessage": f"watchdog did not answer, so the agent was not held: {error}"}


def hook(event: str) -> HookMatcher:
    """The SDK's hook for one of watchdog's events."""

    async def hand_over(told: Any, _tool_use_id: str | None, _context: Any) -> Any:
        answer = await ask_watchdog(event, dict(told), "--within", f"{SECONDS}s")
        if "systemMessage" in answer:
            print(answer["systemMessage"], file=sys.stderr)
        return answer

    matcher = "StructuredOutput" if event == "pre-tool-use" else None
    return HookMatcher(matcher=matcher, hooks=[hand_over], timeout=SECONDS + 10)


async def main(prompt: str) -> int:
    session_id = str(uuid.uuid4())
    begun = await ask_watchdog("session-start", {"session_id": session_id, "source": "startup", "cwd": os.getcwd()})
    if "systemMessage" in begun:
        print(begun["systemMessage"], file=sys.stderr)
    done_means = begun.get("hookSpecificOutput", {}).get("additionalContext", "")

    options = ClaudeAgentOptions(
        cwd=os.getcwd(),
        session_id=session_id,
        allowed_tools=["Bash", "Read", "Write", "Edit"],
        # Without this the settings of the project would name the same hooks again, where `watchdog hook install` was used.
        setting_sources=[],
        system_prompt={"type": "preset", "preset": "claude_code", "append": done_means},
        hooks={"Stop": [hook("stop")], "SubagentStop": [hook("subagent-stop")], "PreToolUse": [hook("pre-tool-use")]},
    )
    result = None
    try:
        async for message in query(prompt=prompt, options=options):
            if isinstance(message, ResultMessage):
                result = message
    finally:
        await ask_watchdog("session-end", {"session_id": session_id, "reason": "other"})
    if result is None or result.is_error:
        return 1
    print(result.result)
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
