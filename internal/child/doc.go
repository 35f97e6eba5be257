// Package child starts programs that do not outlive the program that started them.
//
// Each child leads its own process group, so that its child processes end with it. A guard, a small shell in a separate
// session, gets the group of every child and every directory to remove. It reads from a pipe. When the pipe ends
// because this program is gone, killed or not, the guard kills the groups and removes the directories.
package child
