// Command program is lockstep for Kafka alone, which lockstep builds on demand.
package main

import (
	"github.com/lockstep-go/lockstep/cli"
	"github.com/lockstep-go/lockstep/target/kafka"
)

func main() { cli.Main(kafka.Targets...) }
