package io.github.lockstepgo.client;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WireTest {
    @Test
    void ordersAreRead() {
        byte[] replica = Wire.hello(2, Map.of("key", "value"));
        byte[] message = new Wire.Writer().number(1, Wire.Order.DELIVER).number(2, 300).number(3, 4).number(6, -1)
                .number(7, 1).number(8, 2).text(9, "vote").bytes(10, new byte[] {1, 2}).text(12, "ä")
                .number(13, 1L << 40).message(14, replica).number(99, 7).text(98, "of a later version").toBytes();
        Wire.Order o = new Wire.Order(message);
        assertEquals(Wire.Order.DELIVER, o.kind);
        assertEquals(300, o.number);
        assertEquals(4, o.run);
        assertEquals(-1, o.seed);
        assertEquals(true, o.texts);
        assertEquals("vote", o.type);
        assertArrayEquals(new byte[] {1, 2}, o.body);
        assertEquals("ä", o.text);
        assertEquals(1L << 40, o.now);
        assertEquals(Map.of(2, Map.of("key", "value")), o.replicas);
    }

    @Test
    void whatIsZeroIsLeftOut() {
        assertEquals(0, new Wire.Writer().number(1, 0).text(2, "").bytes(3, new byte[0]).toBytes().length);
        assertArrayEquals(new byte[] {8, 1}, Wire.hello(1, Collections.emptyMap()));
    }

    @Test
    void brokenMessagesAreRefused() {
        for (byte[] broken : new byte[][] {{8}, {10, 5, 1}, {(byte) 0xff}, {15}, {9, 1},
                {8, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1}}) {
            assertThrows(IllegalArgumentException.class, () -> new Wire.Order(broken));
        }
    }

    @Test
    void framesHaveTheirLengthBeforeThem() {
        assertArrayEquals(new byte[] {0, 0, 0, 0, 2, 8, 1}, Wire.frame(new byte[] {8}, new byte[] {1}));
    }
}
