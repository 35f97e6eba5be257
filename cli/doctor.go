package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/lockstep-go/lockstep/internal/build"
)

// doctorCmd checks which of the tools that Lockstep can use are available.
type doctorCmd struct {
	JSON bool `name:"json" help:"Print one JSON object."`
}

// Help returns the longer help.
func (doctorCmd) Help() string {
	return "Nothing of it is needed to explore the targets that are linked in.\n\nExit status 0: all of it is " +
		"there, 1: something is missing.\n\nExample:\n  lockstep doctor"
}

// needed is a program that a part of Lockstep needs.
type needed struct {
	name  string
	names []string // the names under which it may be found
	why   string
}

// tools are the programs that Lockstep can use.
var tools = []needed{
	{"go", []string{"go"}, "targets that are built on demand: run ./directory, --set version=V"},
	{"javac", []string{"javac"}, "servers in Java, with a JDK: zookeeper, kafka, cassandra, ratis, bftsmart"},
	{"mvn", []string{"mvn"}, "fetching these servers"},
	{"chromium", []string{"chromium", "chromium-browser", "google-chrome"}, "the project's tests of HTML pages"},
	{"spin", []string{"spin"}, "models that distal export writes, and their tests"},
	{"gcc", []string{"gcc"}, "the checkers that spin makes of these models"},
	{"python3", []string{"python3"}, "the pages as a site: make docs"},
}

// health is one line of the output.
type health struct {
	Name  string `json:"name"`
	There bool   `json:"there"`
	Where string `json:"where"` // or why it is missing
	For   string `json:"for"`
}

// diagnosis is what the command doctor prints as JSON.
type diagnosis struct {
	Missing  int          `json:"missing"` // number of missing tools
	Tools    []health     `json:"tools"`
	Programs []build.Kept `json:"programs"` // built on demand
}

// Run checks the tools.
func (d *doctorCmd) Run(e *Env) error {
	var all []health
	missing := 0
	for _, t := range tools {
		all = append(all, t.find())
	}
	all = append(all, proxy(e.Ctx))
	for _, h := range all {
		if !h.There {
			missing++
		}
	}
	if missing > 0 {
		e.Found()
	}
	dir, err := build.Directory()
	if err != nil {
		return err
	}
	built, err := build.List(dir)
	if err != nil {
		return err
	}
	if d.JSON {
		return e.JSON(diagnosis{missing, all, built})
	}
	for _, h := range all {
		mark := "ok     "
		if !h.There {
			mark = "missing"
		}
		fmt.Fprintf(e.Out, "%s  %-12s  %s\n%22s for %s\n", mark, h.Name, h.Where, "", h.For)
	}
	return writeBuilt(e.Out, dir, built)
}

// writeBuilt lists the programs that were built on demand.
func writeBuilt(w io.Writer, dir string, all []build.Kept) error {
	if len(all) == 0 {
		_, err := fmt.Fprintf(w, "\nNo programs were built on demand yet; they are kept in %s\n", dir)
		return err
	}
	var sum int64
	for _, p := range all {
		sum += p.Bytes
	}
	fmt.Fprintf(w, "\nPrograms built on demand (%d, %d MB) in %s:\n", len(all), sum>>20, dir)
	for _, p := range all {
		fmt.Fprintf(w, "  %s  %4d MB  %s\n", p.Built.Format(time.DateTime), p.Bytes>>20, p.Name)
	}
	_, err := fmt.Fprintln(w, "Any of them may be removed: it is built again when it is needed.")
	return err
}

// find looks for a program.
func (n *needed) find() health {
	for _, name := range n.names {
		if path, err := exec.LookPath(name); err == nil {
			return health{n.name, true, path, n.why}
		}
	}
	return health{n.name, false, "not in PATH: " + strings.Join(n.names, ", "), n.why}
}

// proxyTime is the timeout for an answer of the module proxy.
const proxyTime = 5 * time.Second

// proxy checks that the module proxy answers.
func proxy(ctx context.Context) health {
	h := health{
		Name: "module proxy",
		For:  "building a target for the first time, with modules that are not in the cache",
	}
	list := os.Getenv("GOPROXY")
	if out, err := exec.CommandContext(ctx, "go", "env", "GOPROXY").Output(); err == nil {
		list = strings.TrimSpace(string(out))
	}
	first, _, _ := strings.Cut(strings.ReplaceAll(list, "|", ","), ",")
	var err error
	h.Where, err = shown(first), reach(ctx, first)
	if h.There = err == nil; err != nil {
		h.Where = err.Error()
	}
	return h
}

// reach reports why a module proxy cannot be reached.
func reach(ctx context.Context, proxy string) error {
	u, err := url.Parse(proxy)
	switch {
	case proxy == "" || proxy == "off":
		return errors.New("GOPROXY is off")
	case err != nil:
		return errors.New("GOPROXY cannot be read") // the address may contain a password
	case u.Scheme == "file":
		_, err := os.Stat(u.Path)
		return err
	case u.Scheme == "":
		return nil // direct: every module has its own server
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	address := u
	if through := cmp.Or(os.Getenv("HTTPS_PROXY"), os.Getenv("https_proxy")); through != "" {
		if address, err = url.Parse(through); err != nil {
			return errors.New("HTTPS_PROXY cannot be read")
		}
	}
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", hostPort(address))
	if err != nil {
		return fmt.Errorf("%s does not answer", u.Redacted())
	}
	return connection.Close() // that it listens is enough: asking it takes net/http, which is large
}

// hostPort returns the address to connect to.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = u.Scheme // the names of services: http and https
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// shown returns the address of a proxy without a password.
func shown(proxy string) string {
	if u, err := url.Parse(proxy); err == nil {
		return u.Redacted()
	}
	return ""
}
