package choices

import (
	"fmt"
	"math/rand"
	"runtime"
	"testing"
	"testing/synctest"
)

// What is chosen at random in a bubble comes from a seed.
func TestChoices(t *testing.T) {
	runtime.LockstepSeed(7)
	synctest.Test(t, func(*testing.T) {
		runtime.LockstepSeed(7)
		a, b := make(chan int, 20), make(chan int, 20)
		for i := range 20 {
			a <- i
			b <- -i
		}
		fmt.Print("choices: ")
		for range 20 {
			select {
			case x := <-a:
				fmt.Print(x, " ")
			case x := <-b:
				fmt.Print(x, " ")
			}
		}
		for k := range map[int]bool{1: true, 2: true, 3: true, 4: true} {
			fmt.Print(k, " ")
		}
		fmt.Println(rand.Int())
	})
}
