import java.util.Set;
import org.apache.activemq.artemis.api.core.RoutingType;
import org.apache.activemq.artemis.api.core.SimpleString;
import org.apache.activemq.artemis.core.config.impl.ConfigurationImpl;
import org.apache.activemq.artemis.core.config.impl.SecurityConfiguration;
import org.apache.activemq.artemis.core.security.Role;
import org.apache.activemq.artemis.core.server.JournalType;
import org.apache.activemq.artemis.core.server.embedded.EmbeddedActiveMQ;
import org.apache.activemq.artemis.core.settings.impl.AddressFullMessagePolicy;
import org.apache.activemq.artemis.core.settings.impl.AddressSettings;
import org.apache.activemq.artemis.spi.core.security.ActiveMQJAASSecurityManager;
import org.apache.activemq.artemis.spi.core.security.jaas.InVMLoginModule;

/** A broker on loopback: `Broker FOLDER PORT [users|tls]`. Journals are synced before each answer. `tls` takes server.p12 and trust.p12 of FOLDER. */
public class Broker {
    public static void main(String[] args) throws Exception {
        String folder = args[0];
        String mode = args.length > 2 ? args[2] : "";
        ConfigurationImpl settings = new ConfigurationImpl();
        settings.setPersistenceEnabled(true).setSecurityEnabled(mode.equals("users")).setJournalType(JournalType.NIO)
            .setJournalDirectory(folder + "/j").setBindingsDirectory(folder + "/b")
            .setLargeMessagesDirectory(folder + "/l").setPagingDirectory(folder + "/p")
            .setJournalBufferTimeout_NIO(0).setJournalSyncTransactional(true).setJournalSyncNonTransactional(true)
            .setJournalDatasync(true).setPersistIDCache(true)
            // Without a limit: the broker otherwise blocks its senders silently when the disk is more than 90 % full.
            .setMaxDiskUsage(-1);
        String acceptor = "tcp://127.0.0.1:" + args[1] + "?protocols=AMQP,CORE";
        if (mode.equals("tls")) {
            acceptor += ";sslEnabled=true;keyStoreType=PKCS12;keyStorePath=" + folder + "/server.p12;keyStorePassword=secret"
                + ";trustStoreType=PKCS12;trustStorePath=" + folder + "/trust.p12;trustStorePassword=secret"
                + ";needClientAuth=true;saslMechanisms=EXTERNAL";
        }
        if (mode.equals("users")) {
            acceptor += ";saslMechanisms=PLAIN";
        }
        settings.addAcceptorConfiguration("amqp", acceptor);
        AddressSettings any = new AddressSettings();
        // A consumer that is killed is no failure of its messages, so nothing moves to a queue of dead letters.
        any.setDefaultAddressRoutingType(RoutingType.ANYCAST).setDefaultQueueRoutingType(RoutingType.ANYCAST)
            .setAutoCreateQueues(true).setAutoCreateAddresses(true).setAutoDeleteQueues(false)
            .setAutoDeleteAddresses(false).setMaxDeliveryAttempts(-1).setIDCacheSize(20000);
        settings.addAddressSetting("#", any);
        AddressSettings full = new AddressSettings(any);
        full.setMaxSizeMessages(2).setAddressFullMessagePolicy(AddressFullMessagePolicy.FAIL);
        settings.addAddressSetting("FULL", full);
        EmbeddedActiveMQ server = new EmbeddedActiveMQ();
        if (mode.equals("users")) {
            SecurityConfiguration users = new SecurityConfiguration();
            users.addUser("quay", "pass word");
            users.addRole("quay", "all");
            server.setSecurityManager(new ActiveMQJAASSecurityManager(InVMLoginModule.class.getName(), users));
            Role all = new Role("all", true, true, true, true, true, true, true, true, true, true, true, true);
            settings.putSecurityRoles("#", Set.of(all));
        }
        server.setConfiguration(settings);
        server.start();
        System.out.println("ready");
        Thread.sleep(Long.MAX_VALUE);
    }
}
