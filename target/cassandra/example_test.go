package cassandra_test

import (
	"fmt"

	"github.com/lockstep-go/lockstep/target/cassandra"
)

func ExampleSchedule() {
	sc := cassandra.Schedule("the first transaction does not reach server 3",
		cassandra.Isolation{Phase: 1, Round: 4, Node: 3})
	filters, _ := sc.Size()
	fmt.Println(sc.Name(), filters)
	// Output: the first transaction does not reach server 3 1
}

func ExampleCluster_Describe() {
	info, err := cassandra.Cluster{Change5985: true}.Describe()
	fmt.Println(info.Nodes, info.Rounds, info.Options["change5985"], err)
	_, err = cassandra.Cluster{Version: "2.0.17", Change5985: true}.Describe()
	fmt.Println(err)
	// Output:
	// 3 [prepare promise propose accept commit ack] true <nil>
	// cassandra: change5985 needs version 2.0.0, later versions have the change; version is 2.0.17
}
