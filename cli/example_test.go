package cli_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target"
	"github.com/lockstep-go/lockstep/target/smr"
)

// A custom lockstep command is a main function of one line.
func ExampleMain() {
	main := func() { cli.Main(smr.Targets...) }
	_ = main
}

// A command line can have linked targets and one that is built on demand.
func ExampleApp() {
	app := cli.App{
		Targets: smr.Targets,
		Programs: []target.Program{{Name: "server", Help: "the server, in the version asked for",
			Package: "example.com/server/lockstep", Module: "example.com/server", Library: "example.com/raft",
			Versions: []string{"v1.4.0"}}},
	}
	main := app.Main
	_ = main
}

func ExampleSplitStrategies() {
	for _, s := range cli.SplitStrategies("uniform:period=4,rounds=16,walk baseline") {
		fmt.Println(s)
	}
	// Output:
	// uniform:period=4,rounds=16
	// walk
	// baseline
}

func ExampleParseStrategies() {
	list, err := cli.ParseStrategies([]string{"uniform,baseline", "walk:steps=9"})
	fmt.Println(len(list), err)
	_, err = cli.ParseStrategies([]string{"magic"})
	fmt.Println(err != nil)
	// Output:
	// 3 <nil>
	// true
}

func ExampleCheckOut() {
	fmt.Println(cli.CheckOut("example_test.go"))
	// Output: --out example_test.go: example_test.go is not a directory
}

func ExampleCheckFiles() {
	fmt.Println(cli.CheckFiles("report", "nowhere/page.html", "junit", ""))
	// Output: --report nowhere/page.html: there is no directory nowhere
}
