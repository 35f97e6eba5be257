package fleet

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-go/lockstep/internal/batch"
)

// withToken puts a token into a command's environment.
func withToken(c *exec.Cmd, token string) *exec.Cmd {
	c.Env = append(c.Env, TokenVariable+"="+token)
	return c
}

// said returns the exit status of a command and all of its output.
func said(t *testing.T, c *exec.Cmd) (int, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	defer stop()
	text, _ := c.CombinedOutput()
	return c.ProcessState.ExitCode(), string(text)
}

// The view token reads the page, the status and the findings. It can neither join nor give nor stop campaigns. The page
// does not accept the work token. No command takes a token from an address, because other users of the machine could
// read it.
func TestTokens(t *testing.T) {
	s := serving(t)
	address, err := s.Page(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	page, _, _ := strings.Cut(address, "?")
	joined(t, s, "worker")
	given(t, s, "smr-bug", "--strategy", "walk", "--runs", "300", "--keep-going")
	campaign := []string{"fleet", "run", "smr", "--runs", "10", "--fleet"}
	out := t.TempDir()
	withPassword := strings.Replace(s.URL, "://", "://user:"+s.Token+"@", 1)
	withIt := strings.Replace(s.URL, "://", "://"+s.Token+"@", 1)
	for name, c := range map[string]struct {
		args   []string
		token  string
		status int
		want   string
	}{
		"view status":       {[]string{"fleet", "status", page}, s.ViewToken, 0, "smr-bug"},
		"view findings":     {[]string{"fleet", "findings", page, "--out", out}, s.ViewToken, 1, "run "},
		"view one":          {[]string{"fleet", "findings", page, "000001"}, s.ViewToken, 1, "prefix"},
		"view none":         {[]string{"fleet", "findings", page, "000099"}, s.ViewToken, 2, `no campaign "000099"`},
		"view joins":        {[]string{"fleet", "join", s.URL}, s.ViewToken, 2, "does not know this token"},
		"view gives":        {append(campaign, s.URL), s.ViewToken, 2, "does not know this token"},
		"view stops":        {[]string{"fleet", "stop", s.URL, "000001"}, s.ViewToken, 2, "does not know this token"},
		"view status, NATS": {[]string{"fleet", "status", s.URL}, s.ViewToken, 2, "does not know this token"},
		"view joins page":   {[]string{"fleet", "join", page}, s.ViewToken, 2, "no fleet at"},
		"work status":       {[]string{"fleet", "status", s.URL}, s.Token, 0, "smr-bug"},
		"work findings":     {[]string{"fleet", "findings", s.URL}, s.Token, 1, "prefix"},
		"work gives":        {append(campaign, s.URL), s.Token, 0, "nothing found"},
		"work on the page":  {[]string{"fleet", "status", page}, s.Token, 2, "does not know this view token"},
		"none on the page":  {[]string{"fleet", "status", page}, "", 2, "wants the view token"},
		"none":              {[]string{"fleet", "status", s.URL}, "", 2, "does not know this token"},
		"link": {[]string{"fleet", "status", address}, "", 2,
			"leave it out, and give it by --token-file FILE or by the variable LOCKSTEP_FLEET_TOKEN"},
		"address": {[]string{"fleet", "join", withIt}, "", 2,
			"leave it out, and give it by --token-file FILE"},
		"address of run": {append(campaign, withIt), "", 2, "leave it out, and give it by --token-file FILE"},
		"address, password": {[]string{"fleet", "stop", withPassword, "000001"}, "", 2,
			"leave it out, and give it by --token-file FILE"},
		"file": {[]string{
			"fleet",
			"status",
			s.URL,
			"--token-file",
			s.tokenFile(),
		}, "wrong", 0, "smr-bug"},
		"file that is empty": {[]string{"fleet", "status", s.URL, "--token-file", os.DevNull}, "", 2, "has no token"},
		"no file":            {[]string{"fleet", "status", s.URL, "--token-file", "nowhere"}, "", 2, "nowhere"},
	} {
		status, text := said(t, withToken(command(t, c.args...), c.token))
		if status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: status %d, want %d and %q:\n%s", name, status, c.status, c.want, text)
		}
		if strings.Contains(text, s.Token) || strings.Contains(text, s.ViewToken) {
			t.Errorf("%s: it names a token: %s", name, text)
		}
	}
	if list, err := filepath.Glob(filepath.Join(out, "*.trace")); err != nil || len(list) == 0 {
		t.Errorf("the view token fetched no traces: %v", err)
	}
}

// Programs that a worker starts do not get the work token, neither in their environment nor in their arguments.
func TestTokenStaysHere(t *testing.T) {
	t.Setenv(TokenVariable, "secret")
	token, err := readToken("", TokenVariable)
	if err != nil || token != "secret" || os.Getenv(TokenVariable) != "" {
		t.Errorf("%q, %v; the variable is %q after it", token, err, os.Getenv(TokenVariable))
	}
}

// The link's token is exchanged for a cookie and leaves the address.
func TestTokenLeavesAddress(t *testing.T) {
	s := serving(t)
	address, err := s.Page(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	page, _, _ := strings.Cut(address, "?")
	get := func(url string, cookies ...*http.Cookie) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	for path, want := range map[string]string{
		"":                "/",
		"campaign/000001": "/campaign/000001",
		"/evil.example":   "/evil.example",
		`%5Cevil.example`: "/%5Cevil.example",
		`"><script>`:      "/%22%3E%3Cscript%3E",
	} {
		answer, text := get(page + path + "?token=" + s.ViewToken)
		cookies := answer.Cookies()
		if answer.StatusCode != http.StatusOK || strings.Contains(text, s.ViewToken) ||
			!strings.Contains(text, `content="0; url=`+want+`"`) {
			t.Errorf("%s: %d, %s", path, answer.StatusCode, text)
		}
		if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteStrictMode ||
			answer.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Fatalf("%s: %v", path, answer.Header)
		}
		if answer, text := get(page, cookies[0]); answer.StatusCode != http.StatusOK ||
			!strings.Contains(text, "Campaigns") ||
			strings.Contains(text, s.ViewToken) {
			t.Errorf("%s: with the cookie %d", path, answer.StatusCode)
		}
	}
	for _, token := range []string{"wrong", s.Token} {
		if answer, _ := get(page + "?token=" + token); answer.StatusCode != http.StatusUnauthorized ||
			len(answer.Cookies()) != 0 {
			t.Errorf("token %q: %d", token, answer.StatusCode)
		}
	}
	if w := s.web(t.Context()); w.ReadHeaderTimeout <= 0 || w.IdleTimeout <= 0 || w.MaxHeaderBytes <= 0 {
		t.Error("clients that do nothing are kept")
	}
}

// Beyond the loopback the server refuses a token that can be guessed, before it listens.
func TestShortTokens(t *testing.T) {
	for want, c := range map[string]Config{
		"--listen 0.0.0.0:0 is not on the loopback: the work token must have at least 16 characters, it " +
			"has 5": {Listen: "0.0.0.0:0", Token: "short"},
		"are the same":   {Listen: "127.0.0.1:0", Token: "one", ViewToken: "one"},
		"allowed are":    {Listen: "127.0.0.1:0", Token: "a b"},
		"missing port":   {Listen: "localhost"},
		"allowed are at": {Listen: "127.0.0.1:0", ViewToken: "a/b"},
	} {
		c.Dir = t.TempDir()
		if s, err := Serve(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
			if s != nil {
				s.Close()
			}
		}
	}
	s, err := Serve(t.Context(), Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Token: "work", ViewToken: "view"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Page(t.Context(), "0.0.0.0:0"); err == nil ||
		!strings.Contains(err.Error(), "the view token must have at least 16") {
		t.Error(err)
	}
	for _, address := range []string{"0.0.0.0:4222", ":4222", "[::]:4222", "192.0.2.1:4222"} {
		if checkListen("--listen", address, "work", "fifteen-letters") == nil ||
			checkListen("--listen", address, "work", "sixteen-letters-") != nil {
			t.Errorf("%s: the limit is not 16", address)
		}
	}
}

// A restarted server has the tokens that it had, in files that only its user can read.
func TestKeptTokens(t *testing.T) {
	dir := t.TempDir()
	s, end := servingIn(t, dir)
	end()
	again, end := servingIn(t, dir)
	end()
	if s.Token != again.Token || s.ViewToken != again.ViewToken || len(s.Token) < minToken ||
		len(s.ViewToken) < minToken ||
		s.Token == s.ViewToken {
		t.Error("the tokens are not kept, or are short, or the same")
	}
	for _, name := range []string{"token", "view-token"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// Texts from workers are escaped before they reach a terminal: in status, in findings and in logs.
func TestEscapes(t *testing.T) {
	const evil = "\x1b[2J\x1b]0;owned\a\u009b31m\nforged line"
	var log bytes.Buffer
	s, err := Serve(t.Context(), Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.ledgers.log = cleanLog(func(line string) { log.WriteString(line + "\n") })
	l := newLedger(testJob(100, true))
	store := map[int]batch.Trace{}
	ask, _ := l.give(1)
	l.Job.ID = "000001"
	p := testPart(t, l.Job, ask, finds, store)
	p.Result.Failures[0].Finding.Text = evil
	if err := l.accept(p, stored(store)); err != nil {
		t.Fatal(err)
	}
	l.add()
	l.Job.Hello.Target, l.Result.Target, l.Why = evil, evil, evil
	s.ledgers.ledgers["000001"] = l
	bad := testPart(t, l.Job, ask, passes, store)
	bad.Worker, bad.Program, bad.First, bad.End = evil, evil, 4, 8
	if err := s.ledgers.receive(partSubject("000001", 4), []byte(text(t, bad)), true, nil); err == nil {
		t.Error("it was taken")
	}
	if err := put(t.Context(), s.store.workers, "w", Report{
		Worker:   "w",
		Campaign: evil,
		Refused:  map[string]string{"1": evil},
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.ledgers.write(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "findings"} {
		_, text := said(t, withToken(command(t, "fleet", name, s.URL), s.Token))
		if !strings.Contains(text, "?[2J") || strings.ContainsAny(text, "\x1b\a\u009b") ||
			strings.Contains(text, "\nforged") {
			t.Errorf("%s prints %q", name, text)
		}
	}
	if text := log.String(); !strings.Contains(text, "rejected the part from run 4") ||
		strings.ContainsAny(text, "\x1b\a\u009b") ||
		strings.Count(text, "\n") != 1 {
		t.Errorf("the log has %q", text)
	}
}
