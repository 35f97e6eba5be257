package kafka_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/target/kafka"
)

func ExampleTwoPartitions() {
	sc := kafka.TwoPartitions()
	filters, _ := sc.Size()
	fmt.Println(sc.Name(), filters)
	// Output: two partitions in a row 2
}

func ExampleCluster_Describe() {
	info, err := kafka.Cluster{Controllers: 1, Unclean: true}.Describe()
	fmt.Println(info.Nodes, info.Options["unclean"], err)
	_, err = kafka.Cluster{Insync: 4}.Describe()
	fmt.Println(err)
	// Output:
	// 4 true <nil>
	// kafka: insync is 4, at most the number of brokers, 3, is allowed
}
