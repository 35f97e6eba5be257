package overlay_test

import (
	"context"
	"fmt"
	"os"

	"github.com/lockstep-go/lockstep/bubble/overlay"
)

// Generate refuses a Go version that the overlay does not know.
func ExampleGenerate() {
	tool, err := overlay.Installed(context.Background(), "")
	if err != nil {
		fmt.Println(err)
	}
	_, err = overlay.Generate(tool.Root, "go1.5", os.TempDir())
	fmt.Println(err)
	// Output: overlay: Go is go1.5, the overlay is known to fit go1.25, go1.26
}

func ExampleMain() {
	code := overlay.Main(context.Background(), []string{"fmt"}, nil, os.Stdout, os.Stdout)
	fmt.Println(code)
	// Output:
	// lockstep go: the first argument must be one of build, test, run, vet, install
	// 2
}
