//go:build v1.0

package tendermint

import (
	"strings"
	"testing"

	abci "github.com/cometbft/cometbft/abci/types"
)

// CometBFT 1.0 treats an empty response of the application as a missing one. An application without a hash returns
// that for a block without transactions. A validator that crashes after the application's commit of such a block, and
// before the library has saved its state, does not start again. Campaigns with crashes and slow disks found this.
// When this test fails, the library has fixed it.
func TestEmptyResponse(t *testing.T) {
	for _, c := range []struct {
		response *abci.FinalizeBlockResponse
		missing  bool
	}{{&abci.FinalizeBlockResponse{}, true}, {&abci.FinalizeBlockResponse{AppHash: []byte{1}}, false}} {
		states := newStates(newMemDB())
		if err := states.SaveFinalizeBlockResponse(1, c.response); err != nil {
			t.Fatal(err)
		}
		_, err := states.LoadLastFinalizeBlockResponse(1)
		if missing := err != nil && strings.Contains(err.Error(), "none are found"); missing != c.missing ||
			err != nil && !missing {
			t.Errorf("%s, saved: %v", c.response, err)
		}
	}
}
