import io.github.lockstepgo.client.Client;
import io.github.lockstepgo.client.Handler;
import io.github.lockstepgo.client.Message;

/** Forwards messages: each message goes to the next replica. */
public final class Pass {
    private Pass() {}

    public static void main(String[] args) throws Exception {
        Client client = Client.fromEnvironment();
        byte[] body = new byte[16];
        client.run(new Handler() {
            @Override
            public void start() {
                client.send(new Message(client.node() % client.nodes() + 1, "token", body));
            }

            @Override
            public void deliver(int from, String type, byte[] received) {
                start();
            }
        });
    }
}
