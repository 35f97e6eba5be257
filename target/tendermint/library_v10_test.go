//go:build v1.0

package tendermint

import (
	"strings"
	"testing"

	abci "github.com/cometbft/cometbft/abci/types"
)

// CometBFT 1.0 takes an empty answer of the application for one that is missing: an application without a hash answers a block without
// transactions so. A validator that crashes after the application has committed such a block, and before the library has saved its state, does not
// start again, which campaigns with crashes and slow disks found. When this fails, the library has mended it.
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
		if missing := err != nil && strings.Contains(err.Error(), "none are found"); missing != c.missing || err != nil && !missing {
			t.Errorf("%s, saved: %v", c.response, err)
		}
	}
}
