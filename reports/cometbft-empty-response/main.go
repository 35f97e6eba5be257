// Command cometbft-empty-response runs a node of CometBFT with one validator. The application does nothing: it answers
// as the library's BaseApplication does. The node crashes after the application has committed block 1 and before the
// library has saved its state. It does not start again.
//
//	go run .             the application has no hash of its state
//	go run . -control    the application has a hash of its state
//
// The crash is at a fail point of the library, as its own tests set them (FAIL_TEST_INDEX). The exit status is 1 if the
// node does not start again.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	abci "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	cmtlog "github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"
	"github.com/cometbft/cometbft/proxy"
	"github.com/cometbft/cometbft/types"
)

var (
	control = flag.Bool("control", false, "the application has a hash of its state")
	home    = flag.String("home", "", "run the node with this directory (used by the program itself)")
)

// afterCommit is the fail point after the application's Commit of block 1 and before the library saves its state. The
// points before it are the votes (0, 1), finalizeCommit (2 to 4) and ApplyBlock (5, 6).
const afterCommit = "FAIL_TEST_INDEX=7"

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// app is BaseApplication with a height that is on disk.
type app struct {
	abci.BaseApplication
	file   string
	height int64
}

func newApp(dir string) *app {
	a := &app{file: filepath.Join(dir, "app")}
	if text, err := os.ReadFile(a.file); err == nil {
		_, err = fmt.Sscan(string(text), &a.height)
		must(err)
	}
	return a
}

// hash is the hash of the application's state.
func hash() []byte {
	if *control {
		return []byte{1}
	}
	return nil
}

func (a *app) Info(context.Context, *abci.InfoRequest) (*abci.InfoResponse, error) {
	r := &abci.InfoResponse{LastBlockHeight: a.height}
	if a.height > 0 {
		r.LastBlockAppHash = hash()
	}
	return r, nil
}

func (a *app) FinalizeBlock(ctx context.Context, q *abci.FinalizeBlockRequest) (*abci.FinalizeBlockResponse, error) {
	r, err := a.BaseApplication.FinalizeBlock(ctx, q)
	if err == nil {
		r.AppHash = hash()
		a.height = q.Height
	}
	return r, err
}

func (a *app) Commit(context.Context, *abci.CommitRequest) (*abci.CommitResponse, error) {
	return &abci.CommitResponse{}, os.WriteFile(a.file, fmt.Append(nil, a.height), 0o666)
}

// run runs the node until it has decided block 3.
func run(dir string) error {
	c := config.DefaultConfig().SetRoot(dir)
	config.EnsureRoot(dir)
	c.P2P.ListenAddress, c.RPC.ListenAddress = "tcp://127.0.0.1:0", ""
	key, err := p2p.LoadOrGenNodeKey(c.NodeKeyFile())
	must(err)
	pv, err := privval.LoadOrGenFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile(), nil)
	must(err)
	if _, err := os.Stat(c.GenesisFile()); err != nil {
		public, err := pv.GetPubKey()
		must(err)
		genesis := types.GenesisDoc{ChainID: "chain", GenesisTime: time.Now(),
			Validators: []types.GenesisValidator{{Address: public.Address(), PubKey: public, Power: 10}}}
		must(genesis.ValidateAndComplete())
		must(genesis.SaveAs(c.GenesisFile()))
	}
	n, err := node.NewNode(context.Background(), c, pv, key, proxy.NewLocalClientCreator(newApp(dir)),
		node.DefaultGenesisDocProviderFunc(c), config.DefaultDBProvider,
		node.DefaultMetricsProvider(c.Instrumentation), cmtlog.NewNopLogger())
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	for n.BlockStore().Height() < 3 {
		time.Sleep(10 * time.Millisecond)
	}
	return n.Stop()
}

// child runs the node in a process of its own, and returns whether it succeeded.
func child(dir string, variables ...string) bool {
	args := []string{"-home", dir}
	if *control {
		args = append(args, "-control")
	}
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), variables...)
	cmd.Stdout = os.Stdout
	return cmd.Run() == nil
}

func main() {
	flag.Parse()
	if *home != "" {
		if err := run(*home); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	dir, err := os.MkdirTemp("", "cometbft")
	must(err)
	defer os.RemoveAll(dir)
	fmt.Println("the node starts, and crashes after the application has committed block 1:")
	if child(dir, afterCommit) {
		log.Fatal("the node does not crash")
	}
	fmt.Println("the node starts again:")
	if !child(dir) {
		fmt.Println("BUG: the node does not start")
		os.RemoveAll(dir)
		os.Exit(1)
	}
	fmt.Println("OK: the node starts and decides two more blocks")
}
