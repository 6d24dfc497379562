import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentSkipListMap;
import org.apache.activemq.artemis.jms.client.ActiveMQConnectionFactory;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.component.sjms.SjmsComponent;
import org.apache.camel.impl.DefaultCamelContext;
import org.messaginghub.pooled.jms.JmsPoolConnectionFactory;

/**
 * Sample 4 as a Camel route: `Route PORT persistent|not-persistent`. It takes a request, changes the record of its key, and replies with it. The records
 * are in memory. A persistent request is taken and answered in one transaction of its session.
 */
public class Route {
    public static void main(String[] args) throws Exception {
        boolean persistent = args[1].equals("persistent");
        ConcurrentSkipListMap<String, byte[]> records = new ConcurrentSkipListMap<>();
        JmsPoolConnectionFactory pool = new JmsPoolConnectionFactory();
        pool.setConnectionFactory(new ActiveMQConnectionFactory("tcp://127.0.0.1:" + args[0]));
        pool.setMaxConnections(2);
        SjmsComponent queues = new SjmsComponent();
        queues.setConnectionFactory(pool);
        DefaultCamelContext context = new DefaultCamelContext();
        context.addComponent("sjms", queues);
        String from = "sjms:queue:REQUESTS?concurrentConsumers=4" + (persistent ? "&transacted=true" : "");
        String to = "sjms:queue:REPLIES?" + (persistent ? "transacted=true" : "deliveryPersistent=false");
        context.addRoutes(new RouteBuilder() {
            @Override
            public void configure() {
                from(from).process(exchange -> {
                    String request = new String(exchange.getMessage().getBody(byte[].class), StandardCharsets.UTF_8);
                    String key = request.substring(request.indexOf("<Key>") + 5, request.indexOf("</Key>"));
                    byte[] record = records.compute(key, (unused, old) -> {
                        byte[] changed = old == null ? new byte[32] : old.clone();
                        changed[31]++;
                        return changed;
                    });
                    exchange.getMessage().setBody(record);
                }).to(to);
            }
        });
        context.start();
        Thread.sleep(Long.MAX_VALUE);
    }
}
