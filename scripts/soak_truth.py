"""Whether a verdict is true by what plain git says, for scripts/soak. Nothing of watchdog's is used or believed."""
import re

# What the reflog of a worktree says where git made a commit there, and did not only go to one.
MADE = re.compile(r"(commit|cherry-pick|revert|rebase|merge)\b")


def faults_of(verdict, git):
    """What is untrue of a verdict. `git(*args)` runs plain git in its worktree: exit code, output, complaint."""
    status, reason = verdict["status"], verdict["reason"]
    if status == "error":
        return [f"an error: {verdict.get('message')}"]
    if (status == "complete") != verdict["complete"]:
        return ["`complete` and the status contradict each other"]
    origins = {"new_commits": "made_here", "rescued": "rescued"}
    if status != "complete" or reason not in origins:
        return []
    baseline, head = verdict["baseline"], verdict["head"]
    credited = [commit["id"] for commit in verdict["commits"] if commit["origin"] == origins[reason]]
    if reason == "rescued" and not credited:
        # Somebody committed the very work at the moment of its rescue: that is the proof then, though the verdict calls it a rescue's.
        credited = [commit["id"] for commit in verdict["commits"] if commit["origin"] == "made_here"]
    if not credited:
        return [f"no commit of origin {origins[reason]}"]
    faults = [f"{commit} does not exist" for commit in [baseline, head, *credited] if git("cat-file", "-e", f"{commit}^{{commit}}")[0]]
    if faults:
        return faults
    since = set(git("rev-list", head, f"^{baseline}")[1].split())
    faults += [f"{commit} is not among the commits since the baseline" for commit in credited if commit not in since]
    if git("diff", "--quiet", baseline, head)[0] != 1:
        faults.append("the tree is that of the baseline")
    # Read after the verdict: whatever HEAD named then is in it.
    entries = [line.split("\t", 1) for line in git("log", "-g", "--format=%H%x09%gs", "HEAD")[1].splitlines()]
    if head not in {entry[0] for entry in entries}:
        faults.append(f"HEAD never was {head}")
    here = {entry[0] for entry in entries if MADE.match(entry[1])}
    faults += [f"{commit} was not made in this worktree, by its reflog" for commit in credited if commit not in here]
    return faults
