// Command sums prints the SHA-256 of Maven artifacts and all their dependencies, for the jars.sha256 of a target:
//
//	go run ./process/jvm/sums org.apache.zookeeper:zookeeper:3.9.5 >> target/zookeeper/jars.sha256
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/lockstep-go/lockstep/process/jvm"
)

func main() {
	lines, err := jvm.Sums(context.Background(), os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sums:", err)
		os.Exit(2)
	}
	for _, line := range lines {
		fmt.Println(line)
	}
}
