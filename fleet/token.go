package fleet

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lockstep-go/lockstep/internal/loopback"
	"github.com/nats-io/nats.go"
)

// A fleet has two tokens. The work token runs programs: a peer with it can join, give campaigns and stop them. The view
// token only reads: the page, the status and the findings, over HTTP. Neither is an argument of a command, because
// every user of a machine can read the arguments of its processes.

// The environment variables with tokens, used if no file is given.
const (
	TokenVariable     = "LOCKSTEP_FLEET_TOKEN"
	ViewTokenVariable = "LOCKSTEP_FLEET_VIEW_TOKEN"
)

// minToken is the least length of a token that protects an address beyond the loopback.
const minToken = 16

// readToken reads a token from a file or, if none is named, from an environment variable. It removes the variable, so
// that programs started later do not get it. Empty: there is no token.
func readToken(file, variable string) (string, error) {
	if file == "" {
		token := os.Getenv(variable)
		return token, os.Unsetenv(variable)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the file with the token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s has no token: it must hold one word", file)
	}
	return token, nil
}

// keptToken returns the token in a file. It creates the file if it does not exist.
func keptToken(file string) (string, error) {
	token, err := readToken(file, "")
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return token, err
	}
	token = rand.Text()
	return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
}

// tokens creates the missing tokens of a server, and checks all of them.
func (s *Server) tokens() (err error) {
	if s.Token == "" && s.config.NATS == "" {
		if s.Token, err = keptToken(s.tokenFile()); err != nil {
			return err
		}
	}
	if s.ViewToken == "" {
		if s.ViewToken, err = keptToken(filepath.Join(s.config.Dir, "view-token")); err != nil {
			return err
		}
	}
	switch {
	case !plain(s.ViewToken) || s.config.NATS == "" && !plain(s.Token):
		return fmt.Errorf("a token of the fleet: allowed are at most %d letters, digits and -", mostName)
	case s.Token == s.ViewToken:
		return errors.New("the work token and the view token are the same: a viewer of the page could run programs")
	case s.config.NATS == "":
		return checkListen("--listen", s.config.Listen, "work", s.Token)
	}
	return nil
}

// tokenFile returns the file with the work token.
func (s *Server) tokenFile() string { return filepath.Join(s.config.Dir, "token") }

// checkListen refuses to listen beyond the loopback if a token can be guessed.
func checkListen(flag, address, kind, token string) error {
	local, err := loopback.Is(address)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: %w", flag, address, err)
	case !local && len(token) < minToken:
		return fmt.Errorf("%s %s is not on the loopback: the %s token must have at least %d characters, it has %d",
			flag, address, kind, minToken, len(token))
	}
	return nil
}

// errTokenInAddress names the alternatives. It does not print the token.
var errTokenInAddress = errors.New(
	"the address of the fleet has a token or a password in it, which others on this machine can read: " +
		"leave it out, and give it by --token-file FILE or by the variable " + TokenVariable,
)

// credentials removes the user from an address, and returns options with it and the token. It refuses a user without a
// token: NATS reads such a user as a token.
func credentials(address, token string) (string, []nats.Option, error) {
	var servers []string
	user := ""
	for one := range strings.SplitSeq(address, ",") {
		scheme, rest, ok := strings.Cut(one, "://")
		if !ok {
			scheme, rest = "nats", one
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			if user = rest[:at]; token == "" || strings.Contains(user, ":") {
				return "", nil, errTokenInAddress
			}
			rest = rest[at+1:]
		}
		servers = append(servers, scheme+"://"+rest)
	}
	address = strings.Join(servers, ",")
	switch {
	case token == "":
		return address, nil, nil
	case user != "":
		return address, []nats.Option{nats.UserInfo(user, token)}, nil
	default:
		return address, []nats.Option{nats.Token(token)}, nil
	}
}

// same compares in constant time.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
