// What a JMS program expects of a provider, against a listener: java -cp 'lib/*' JmsProbe.java URL [PART]. Prints `ok NAME` for each part, or for the one
// part; the first failure ends it.

import jakarta.jms.*;
import jakarta.jms.Queue;
import java.util.*;
import java.util.concurrent.*;
import org.apache.qpid.jms.JmsConnectionFactory;

public class JmsProbe {
    static ConnectionFactory factory;
    static final long WAIT_MS = 20_000;
    static String only;

    interface Part { void run(Connection connection) throws Exception; }

    public static void main(String[] args) throws Exception {
        factory = new JmsConnectionFactory(args[0]);
        only = args.length > 1 ? args[1] : null;
        part("types", JmsProbe::types);
        part("headers", JmsProbe::headers);
        part("transacted", JmsProbe::transacted);
        part("poison", JmsProbe::poison);
        part("recover", JmsProbe::recover);
        part("request_reply", JmsProbe::requestReply);
        part("selectors", JmsProbe::selectors);
        part("browser", JmsProbe::browser);
        part("missing", JmsProbe::missing);
        part("full", JmsProbe::full);
        part("anonymous", JmsProbe::anonymous);
        part("expiry", JmsProbe::expiry);
        part("large", JmsProbe::large);
        part("many", JmsProbe::many);
        System.exit(0);
    }

    static void part(String name, Part part) throws Exception {
        if (only != null && !only.equals(name)) return;
        long began = System.nanoTime();
        try (Connection connection = factory.createConnection()) {
            connection.start();
            part.run(connection);
        } catch (Throwable failed) {
            System.out.println("FAILED " + name + ": " + failed);
            failed.printStackTrace(System.out);
            System.exit(1);
        }
        System.out.println("ok " + name + " " + (System.nanoTime() - began) / 1_000_000 + " ms");
    }

    static void same(Object expected, Object found) {
        if (!Objects.equals(expected, found)) throw new AssertionError("expected " + expected + ", found " + found);
    }

    static Session auto(Connection connection) throws JMSException {
        return connection.createSession(false, Session.AUTO_ACKNOWLEDGE);
    }

    static void send(Connection connection, String queue, String... texts) throws JMSException {
        try (Session session = auto(connection)) {
            MessageProducer producer = session.createProducer(session.createQueue(queue));
            for (String text : texts) producer.send(session.createTextMessage(text));
        }
    }

    static String text(Message message) throws JMSException {
        return message == null ? null : ((TextMessage) message).getText();
    }

    static void types(Connection connection) throws Exception {
        Session session = auto(connection);
        Queue queue = session.createQueue("TYPES");
        MessageProducer producer = session.createProducer(queue);
        MessageConsumer consumer = session.createConsumer(queue);
        producer.send(session.createTextMessage("gr\u00fc\u00dfe"));
        same("gr\u00fc\u00dfe", text(consumer.receive(WAIT_MS)));
        producer.send(session.createTextMessage());
        same(null, text(consumer.receive(WAIT_MS)));
        BytesMessage bytes = session.createBytesMessage();
        bytes.writeBytes(new byte[] {0, 1, (byte) 0xff});
        producer.send(bytes);
        BytesMessage found = (BytesMessage) consumer.receive(WAIT_MS);
        same(3L, found.getBodyLength());
        found.readByte();
        found.readByte();
        same((byte) 0xff, found.readByte());
        MapMessage map = session.createMapMessage();
        map.setInt("a", 7);
        map.setString("b", "x");
        producer.send(map);
        MapMessage mapped = (MapMessage) consumer.receive(WAIT_MS);
        same(7, mapped.getInt("a"));
        same("x", mapped.getString("b"));
        StreamMessage stream = session.createStreamMessage();
        stream.writeLong(5);
        stream.writeString("y");
        producer.send(stream);
        StreamMessage streamed = (StreamMessage) consumer.receive(WAIT_MS);
        same(5L, streamed.readLong());
        same("y", streamed.readString());
        producer.send(session.createObjectMessage(new ArrayList<>(List.of("z"))));
        if (!(consumer.receive(WAIT_MS) instanceof ObjectMessage)) throw new AssertionError("an object");
    }

    static void headers(Connection connection) throws Exception {
        Session session = auto(connection);
        Queue queue = session.createQueue("HEADERS");
        MessageProducer producer = session.createProducer(queue);
        TextMessage message = session.createTextMessage("x");
        message.setJMSCorrelationID("corr-1");
        message.setJMSType("order");
        message.setJMSReplyTo(session.createQueue("TYPES"));
        message.setStringProperty("JMSXGroupID", "group-7");
        message.setIntProperty("JMSXGroupSeq", 3);
        message.setIntProperty("number", 42);
        message.setBooleanProperty("flag", true);
        message.setDoubleProperty("ratio", 0.5);
        message.setStringProperty("text", "v");
        producer.send(message, DeliveryMode.NON_PERSISTENT, 7, 60_000);
        TextMessage found = (TextMessage) session.createConsumer(queue).receive(WAIT_MS);
        same(message.getJMSMessageID(), found.getJMSMessageID());
        same("corr-1", found.getJMSCorrelationID());
        same("order", found.getJMSType());
        same("TYPES", ((Queue) found.getJMSReplyTo()).getQueueName());
        same("HEADERS", ((Queue) found.getJMSDestination()).getQueueName());
        same(7, found.getJMSPriority());
        same(DeliveryMode.NON_PERSISTENT, found.getJMSDeliveryMode());
        same(message.getJMSExpiration(), found.getJMSExpiration());
        same(message.getJMSTimestamp(), found.getJMSTimestamp());
        same("group-7", found.getStringProperty("JMSXGroupID"));
        same(3, found.getIntProperty("JMSXGroupSeq"));
        same(42, found.getObjectProperty("number"));
        same(true, found.getObjectProperty("flag"));
        same(0.5, found.getObjectProperty("ratio"));
        same("v", found.getObjectProperty("text"));
        same(false, found.getJMSRedelivered());
        same(1, found.getIntProperty("JMSXDeliveryCount"));
        // Priority first, then arrival.
        MessageProducer ordered = session.createProducer(session.createQueue("ORDER"));
        for (int priority : new int[] {1, 9, 4, 9}) ordered.send(session.createTextMessage("" + priority), 2, priority, 0);
        MessageConsumer consumer = session.createConsumer(session.createQueue("ORDER"));
        for (String expected : new String[] {"9", "9", "4", "1"}) same(expected, text(consumer.receive(WAIT_MS)));
    }

    static void transacted(Connection connection) throws Exception {
        Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
        Queue in = session.createQueue("TX.IN");
        Queue out = session.createQueue("TX.OUT");
        send(connection, "TX.IN", "a", "b");
        MessageConsumer consumer = session.createConsumer(in);
        MessageProducer producer = session.createProducer(out);
        for (int round = 1; round <= 2; round++) {
            TextMessage a = (TextMessage) consumer.receive(WAIT_MS);
            same("a", a.getText());
            same(round, a.getIntProperty("JMSXDeliveryCount"));
            same(round > 1, a.getJMSRedelivered());
            producer.send(session.createTextMessage("from a"));
            producer.send(session.createTextMessage("from a too"));
            if (round == 1) session.rollback();
        }
        Session other = auto(connection);
        MessageConsumer output = other.createConsumer(out);
        same(null, output.receive(300));
        session.commit();
        same("from a", text(output.receive(WAIT_MS)));
        same("from a too", text(output.receive(WAIT_MS)));
        same("b", text(consumer.receive(WAIT_MS)));
        session.commit();
        same(null, consumer.receive(300));
        same(null, output.receiveNoWait());
    }

    static void poison(Connection connection) throws Exception {
        Session session = connection.createSession(true, Session.SESSION_TRANSACTED);
        send(connection, "POISON", "bad", "good");
        MessageConsumer consumer = session.createConsumer(session.createQueue("POISON"));
        // The threshold of the queue is 3.
        for (int round = 0; round < 3; round++) {
            same("bad", text(consumer.receive(WAIT_MS)));
            session.rollback();
        }
        same("good", text(consumer.receive(WAIT_MS)));
        session.commit();
        Session dead = auto(connection);
        same("bad", text(dead.createConsumer(dead.createQueue("DEAD.LETTER")).receive(WAIT_MS)));
    }

    static void recover(Connection connection) throws Exception {
        Session session = connection.createSession(false, Session.CLIENT_ACKNOWLEDGE);
        send(connection, "RECOVER", "1", "2", "3");
        MessageConsumer consumer = session.createConsumer(session.createQueue("RECOVER"));
        same("1", text(consumer.receive(WAIT_MS)));
        same("2", text(consumer.receive(WAIT_MS)));
        session.recover();
        Message again = consumer.receive(WAIT_MS);
        same("1", text(again));
        same(true, again.getJMSRedelivered());
        same("2", text(consumer.receive(WAIT_MS)));
        Message last = consumer.receive(WAIT_MS);
        same("3", text(last));
        last.acknowledge();
        session.close();
        Session check = auto(connection);
        same(null, check.createConsumer(check.createQueue("RECOVER")).receive(300));
    }

    static void requestReply(Connection connection) throws Exception {
        ExecutorService service = Executors.newSingleThreadExecutor();
        service.submit(() -> {
            try (Connection own = factory.createConnection()) {
                own.start();
                Session session = auto(own);
                MessageConsumer requests = session.createConsumer(session.createQueue("SERVICE"));
                MessageProducer replies = session.createProducer(null);
                for (int i = 0; i < 20; i++) {
                    TextMessage request = (TextMessage) requests.receive(WAIT_MS);
                    TextMessage reply = session.createTextMessage("re " + request.getText());
                    reply.setJMSCorrelationID(request.getJMSMessageID());
                    replies.send(request.getJMSReplyTo(), reply);
                }
            }
            return null;
        });
        Session session = auto(connection);
        TemporaryQueue own = session.createTemporaryQueue();
        MessageConsumer replies = session.createConsumer(own);
        MessageProducer producer = session.createProducer(session.createQueue("SERVICE"));
        for (int i = 0; i < 20; i++) {
            TextMessage request = session.createTextMessage("request " + i);
            request.setJMSReplyTo(own);
            producer.send(request);
            TextMessage reply = (TextMessage) replies.receive(WAIT_MS);
            same("re request " + i, reply.getText());
            same(request.getJMSMessageID(), reply.getJMSCorrelationID());
        }
        replies.close();
        own.delete();
        service.shutdown();
    }

    static void selectors(Connection connection) throws Exception {
        Session session = auto(connection);
        Queue queue = session.createQueue("SELECT");
        try {
            session.createConsumer(queue, "colour = 'blue' AND weight > 3").receive(1_000);
            throw new AssertionError("a selector that is not supported was taken");
        } catch (JMSException refused) {
            if (!refused.getMessage().contains("is not supported")) throw refused;
        }
        MessageProducer producer = session.createProducer(queue);
        for (String id : new String[] {"one", "two", "a correlation id of more than eighteen bytes"}) {
            TextMessage message = session.createTextMessage("for " + id);
            message.setJMSCorrelationID(id);
            producer.send(message);
        }
        for (String id : new String[] {"two", "a correlation id of more than eighteen bytes", "one"}) {
            MessageConsumer consumer = session.createConsumer(queue, "JMSCorrelationID = '" + id + "'");
            same("for " + id, text(consumer.receive(WAIT_MS)));
            same(null, consumer.receive(200));
            consumer.close();
        }
    }

    static void browser(Connection connection) throws Exception {
        Session session = auto(connection);
        Queue queue = session.createQueue("BROWSE");
        String[] texts = new String[50];
        for (int i = 0; i < texts.length; i++) texts[i] = "m" + i;
        send(connection, "BROWSE", texts);
        for (int round = 0; round < 2; round++) {
            List<String> found = new ArrayList<>();
            QueueBrowser browser = session.createBrowser(queue);
            for (Enumeration<?> all = browser.getEnumeration(); all.hasMoreElements(); ) found.add(text((Message) all.nextElement()));
            browser.close();
            same(List.of(texts), found);
        }
        MessageConsumer consumer = session.createConsumer(queue);
        for (String expected : texts) same(expected, text(consumer.receive(WAIT_MS)));
    }

    static void missing(Connection connection) throws Exception {
        Session session = auto(connection);
        try {
            session.createProducer(session.createQueue("NO.SUCH.QUEUE"));
            throw new AssertionError("a missing queue was taken");
        } catch (InvalidDestinationException expected) {
            if (!expected.getMessage().contains("no queue NO.SUCH.QUEUE")) throw expected;
        }
        try {
            session.createConsumer(session.createQueue("NO.SUCH.QUEUE"));
            throw new AssertionError("a missing queue was taken");
        } catch (InvalidDestinationException expected) {
        }
    }

    static void full(Connection connection) throws Exception {
        Session session = auto(connection);
        MessageProducer producer = session.createProducer(session.createQueue("FULL"));
        producer.send(session.createTextMessage("1"));
        producer.send(session.createTextMessage("2"));
        try {
            producer.send(session.createTextMessage("3"));
            throw new AssertionError("a full queue took a message");
        } catch (JMSException expected) {
            if (!expected.getMessage().contains("queue FULL is full: 2 messages")) throw expected;
        }
        // In a transaction, the commit fails as a whole.
        Session transacted = connection.createSession(true, Session.SESSION_TRANSACTED);
        MessageProducer other = transacted.createProducer(null);
        try {
            other.send(transacted.createQueue("TYPES"), transacted.createTextMessage("never"));
            other.send(transacted.createQueue("FULL"), transacted.createTextMessage("never"));
            transacted.commit();
            throw new AssertionError("a transaction with a refused message was committed");
        } catch (JMSException expected) {
        }
        MessageConsumer consumer = session.createConsumer(session.createQueue("TYPES"));
        same(null, consumer.receive(300));
        MessageConsumer drain = session.createConsumer(session.createQueue("FULL"));
        same("1", text(drain.receive(WAIT_MS)));
        same("2", text(drain.receive(WAIT_MS)));
        same(null, drain.receive(300));
    }

    static void anonymous(Connection connection) throws Exception {
        Session session = auto(connection);
        MessageProducer producer = session.createProducer(null);
        producer.send(session.createQueue("ORDER"), session.createTextMessage("one"));
        producer.send(session.createQueue("SELECT"), session.createTextMessage("two"));
        same("one", text(session.createConsumer(session.createQueue("ORDER")).receive(WAIT_MS)));
        same("two", text(session.createConsumer(session.createQueue("SELECT")).receive(WAIT_MS)));
        try {
            producer.send(session.createQueue("NO.SUCH.QUEUE"), session.createTextMessage("x"));
            throw new AssertionError("a missing queue was taken");
        } catch (JMSException expected) {
        }
    }

    static void expiry(Connection connection) throws Exception {
        Session session = auto(connection);
        Queue queue = session.createQueue("EXPIRY");
        MessageProducer producer = session.createProducer(queue);
        producer.send(session.createTextMessage("gone"), DeliveryMode.PERSISTENT, 4, 1);
        producer.send(session.createTextMessage("here"), DeliveryMode.PERSISTENT, 4, 60_000);
        Thread.sleep(50);
        MessageConsumer consumer = session.createConsumer(queue);
        same("here", text(consumer.receive(WAIT_MS)));
        same(null, consumer.receive(200));
    }

    static void large(Connection connection) throws Exception {
        Session session = auto(connection);
        Queue queue = session.createQueue("LARGE");
        BytesMessage message = session.createBytesMessage();
        byte[] content = new byte[3_500_000];
        new Random(7).nextBytes(content);
        message.writeBytes(content);
        session.createProducer(queue).send(message);
        BytesMessage found = (BytesMessage) session.createConsumer(queue).receive(WAIT_MS);
        byte[] back = new byte[content.length];
        same(content.length, found.readBytes(back));
        same(true, Arrays.equals(content, back));
        BytesMessage huge = session.createBytesMessage();
        huge.writeBytes(new byte[6_000_000]);
        try {
            session.createProducer(queue).send(huge);
            throw new AssertionError("a message above the queue's limit was taken");
        } catch (JMSException expected) {
        }
    }

    static void many(Connection connection) throws Exception {
        int count = 10_000;
        Session sending = auto(connection);
        MessageProducer producer = sending.createProducer(sending.createQueue("MANY"));
        CountDownLatch sent = new CountDownLatch(count);
        CompletionListener done = new CompletionListener() {
            public void onCompletion(Message message) { sent.countDown(); }
            public void onException(Message message, Exception failed) { failed.printStackTrace(System.out); }
        };
        for (int i = 0; i < count; i++) producer.send(sending.createTextMessage("" + i), done);
        if (!sent.await(60, TimeUnit.SECONDS)) throw new AssertionError(sent.getCount() + " messages were not accepted");
        Session receiving = auto(connection);
        MessageConsumer consumer = receiving.createConsumer(receiving.createQueue("MANY"));
        for (int i = 0; i < count; i++) same("" + i, text(consumer.receive(WAIT_MS)));
        same(null, consumer.receive(200));
    }
}
