// Asks watchdog whether the work in a worktree is done.
//
//	go build -o evaluate evaluate.go watchdog_types.go && ./evaluate WORKTREE "the agent's last text"
//
// Prints the verdict in words and ends with watchdog's exit code, which `go run` would turn into 1. Needs Go 1.18 and watchdog in PATH (or
// in $WATCHDOG).
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Evaluate judges the checks of the worktree's completion.json. The error says why there is no verdict at all.
func Evaluate(worktree string, context Context) (*Verdict, error) {
	watchdog := os.Getenv("WATCHDOG")
	if watchdog == "" {
		watchdog = "watchdog"
	}
	context.Schema = 1
	input, err := json.Marshal(context)
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	command := exec.Command(watchdog, "-C", worktree, "evaluate", "--json")
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &stdout, &stderr
	// The exit code repeats the status, so only a missing verdict is an error.
	ended := command.Run()
	var verdict Verdict
	if err := json.Unmarshal(stdout.Bytes(), &verdict); err != nil {
		return nil, fmt.Errorf("watchdog gave no verdict (%v): %s", ended, strings.TrimSpace(stderr.String()))
	}
	return &verdict, nil
}

// exitCodes are those that watchdog itself would have ended with.
var exitCodes = map[VerdictStatus]int{
	"complete": 0, "incomplete": 10, "waiting": 11, "review": 12, "timeout": 13, "stopped": 14, "failed": 15, "error": 16,
}

func main() {
	done := true
	verdict, err := Evaluate(os.Args[1], Context{Output: &os.Args[2], ClaimsDone: &done})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(16)
	}
	fmt.Printf("%s (%s, %s): %s\n", verdict.Status, verdict.Reason, verdict.Evidence, verdict.Message)
	if verdict.Feedback != nil {
		fmt.Printf("next prompt: %s\n", *verdict.Feedback)
	}
	os.Exit(exitCodes[verdict.Status])
}
