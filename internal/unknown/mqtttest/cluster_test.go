//go:build lockstep_overlay

package mqtttest

import (
	"fmt"
	"io"
	"log/slog"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	mqtt "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/lockstep-go/lockstep/bubble"
)

// The types of event: a subscriber has subscribed or has received a message; a publisher sends a message or has
// received its acknowledgment. The value is the message.
const (
	eventSubscribed = "subscribed"
	eventGot        = "got"
	eventSends      = "sends"
	eventAcked      = "acked"
)

// The broker is node 1; nodes up to publishers publish, the others subscribe.
const publishers, nodes = 3, 5

// topic is the topic of all messages.
const topic = "work"

// options are what the tests vary: the quality of service of subscriptions, and whether a subscriber asks the broker
// to forget its session when the connection ends.
type options struct {
	qos   byte
	clean bool
}

// cluster is a deployment of the broker with its defaults.
func cluster(o options) bubble.Cluster {
	return bubble.Cluster{Name: "mqtt", Nodes: nodes, Network: bubble.Sockets{Split: 0.1}, Pace: 250 * time.Millisecond,
		Start: func(n *bubble.Node) error {
			switch {
			case n.Self() == 1:
				return serve(n)
			case n.Self() <= publishers:
				return publish(n)
			}
			return subscribe(n, o)
		}}
}

// serve runs the broker.
func serve(n *bubble.Node) error {
	s := mqtt.New(&mqtt.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err := s.AddHook(new(auth.AllowHook), nil); err != nil {
		return err
	}
	if err := s.AddListener(listeners.NewTCP(listeners.Config{ID: "tcp", Address: ":1883"})); err != nil {
		return err
	}
	n.OnStop(func() { _ = s.Close() })
	return s.Serve()
}

// client connects to the broker, and reconnects when the connection is lost.
func client(n *bubble.Node, clean bool) paho.Client {
	o := paho.NewClientOptions().AddBroker("tcp://10.0.0.1:1883")
	o.SetClientID(fmt.Sprintf("node%d", n.Self())).SetCleanSession(clean)
	o.SetKeepAlive(5 * time.Second).SetPingTimeout(2 * time.Second).SetConnectTimeout(5 * time.Second)
	o.SetMaxReconnectInterval(2 * time.Second).SetConnectRetry(true).SetConnectRetryInterval(time.Second)
	c := paho.NewClient(o)
	n.OnStop(func() { c.Disconnect(0) })
	c.Connect()
	return c
}

// publish sends messages, one after the other.
func publish(n *bubble.Node) error {
	c := client(n, false)
	for i := 0; n.Alive(); i++ {
		message := fmt.Sprintf("%d.%d.%d", n.Self(), n.Incarnation(), i)
		n.Emit(eventSends, message)
		token := c.Publish(topic, 1, false, message)
		select {
		case <-n.Context().Done():
			return nil
		case <-token.Done():
		}
		if token.Error() == nil {
			n.Emit(eventAcked, message)
		}
		time.Sleep(time.Second)
	}
	return nil
}

// subscribe subscribes and reports the messages that it receives.
func subscribe(n *bubble.Node, o options) error {
	c := client(n, o.clean)
	got := func(_ paho.Client, m paho.Message) { n.Emit(eventGot, string(m.Payload())) }
	for n.Alive() {
		token := c.Subscribe(topic, o.qos, got)
		select {
		case <-n.Context().Done():
			return nil
		case <-token.Done():
		}
		if token.Error() == nil {
			n.Emit(eventSubscribed, nil)
			return nil
		}
		time.Sleep(time.Second)
	}
	return nil
}
