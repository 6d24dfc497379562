import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.batch.api.chunk.AbstractItemReader;
import jakarta.batch.api.chunk.AbstractItemWriter;
import jakarta.batch.api.listener.AbstractStepListener;
import jakarta.batch.runtime.BatchStatus;
import jakarta.transaction.Status;
import jakarta.transaction.SystemException;
import jakarta.transaction.Transaction;
import jakarta.transaction.TransactionManager;
import java.io.Serializable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jberet.operations.JobOperatorImpl;
import org.jberet.repository.JdbcRepository;
import org.jberet.repository.JobRepository;
import org.jberet.runtime.JobExecutionImpl;
import org.jberet.spi.ArtifactFactory;
import org.jberet.spi.BatchEnvironment;
import org.jberet.spi.JobExecutor;
import org.jberet.spi.JobTask;
import org.jberet.spi.JobXmlResolver;
import org.jberet.tools.MetaInfBatchJobsJobXmlResolver;

/** JBeret, with repository and writer on one connection and in one transaction. */
public final class JBeretPeer {
    private static HikariDataSource pool;
    private static final ThreadLocal<Connection> CONNECTION = new ThreadLocal<>();
    private static final ThreadLocal<Boolean> ACTIVE = ThreadLocal.withInitial(() -> false);

    /** The connection of the thread's transaction. */
    static Connection joined() throws SQLException {
        Connection connection = CONNECTION.get();
        if (connection == null) {
            connection = pool.getConnection();
            connection.setAutoCommit(false);
            CONNECTION.set(connection);
        }
        return connection;
    }

    /** A source of connections that joins the thread's transaction if there is one. */
    private static DataSource joining() {
        ClassLoader loader = JBeretPeer.class.getClassLoader();
        return (DataSource) Proxy.newProxyInstance(loader, new Class<?>[] {DataSource.class}, (proxy, method, arguments) -> {
            if (!method.getName().equals("getConnection")) return method.invoke(pool, arguments);
            if (!ACTIVE.get()) return pool.getConnection();
            Connection real = joined();
            return Proxy.newProxyInstance(loader, new Class<?>[] {Connection.class}, (inner, call, values) -> {
                // The transaction closes it.
                if (call.getName().equals("close")) return null;
                try {
                    return call.invoke(real, values);
                } catch (InvocationTargetException exception) {
                    throw exception.getCause();
                }
            });
        });
    }

    private static final class LocalTransactions implements TransactionManager {
        private final ThreadLocal<Integer> status = ThreadLocal.withInitial(() -> Status.STATUS_NO_TRANSACTION);

        private void end(boolean commits) throws SystemException {
            try (Connection connection = CONNECTION.get()) {
                if (connection == null) return;
                if (commits) connection.commit();
                else connection.rollback();
                connection.setAutoCommit(true);
            } catch (SQLException exception) {
                throw new SystemException(exception.toString());
            } finally {
                CONNECTION.remove();
                ACTIVE.set(false);
            }
        }

        public void begin() {
            status.set(Status.STATUS_ACTIVE);
            ACTIVE.set(true);
        }

        public void commit() throws SystemException {
            end(true);
            status.set(Status.STATUS_COMMITTED);
        }

        public void rollback() throws SystemException {
            end(false);
            status.set(Status.STATUS_ROLLEDBACK);
        }

        public void setRollbackOnly() {
            status.set(Status.STATUS_MARKED_ROLLBACK);
        }

        public int getStatus() {
            return status.get();
        }

        public Transaction getTransaction() {
            return null;
        }

        public void setTransactionTimeout(int seconds) {}

        public Transaction suspend() {
            return null;
        }

        public void resume(Transaction transaction) {}
    }

    /** JBeret takes bare bytes for data that is serialized already, hence a record around them. */
    public record Checkpoint(long position, byte[] data) implements Serializable {}

    public static final class Lines extends AbstractItemReader {
        private final Paper.Reader reader = new Paper.Reader();

        @Override
        public void open(Serializable checkpoint) throws Exception {
            reader.open();
        }

        @Override
        public Object readItem() throws Exception {
            return reader.read();
        }

        @Override
        public void close() throws Exception {
            reader.close();
        }

        @Override
        public Serializable checkpointInfo() {
            return new Checkpoint(reader.position, reader.data.clone());
        }
    }

    public static final class Rows extends AbstractItemWriter {
        private final Paper.Writer writer = new Paper.Writer();

        @Override
        public void writeItems(List<Object> items) throws Exception {
            writer.write(joined(), items.size());
        }

        @Override
        public Serializable checkpointInfo() {
            return new Checkpoint(0, writer.data.clone());
        }
    }

    public static final class Times extends AbstractStepListener {
        @Override
        public void beforeStep() {
            Paper.begin = System.nanoTime();
        }

        @Override
        public void afterStep() {
            Paper.end = System.nanoTime();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Paper.arguments(arguments);
        java.util.logging.LogManager.getLogManager().reset();
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(Paper.url);
        config.setUsername(Paper.user);
        pool = new HikariDataSource(config);
        Properties settings = new Properties();
        JobRepository repository = new JdbcRepository(joining(), settings);
        TransactionManager transactions = new LocalTransactions();
        ThreadPoolExecutor threads = (ThreadPoolExecutor) Executors.newCachedThreadPool();
        JobExecutor executor = new JobExecutor(threads) {
            @Override
            protected int getMaximumPoolSize() {
                return threads.getMaximumPoolSize();
            }
        };
        Map<String, Supplier<Object>> artifacts = Map.of("reader", Lines::new, "writer", Rows::new, "times", Times::new);
        ArtifactFactory factory = new ArtifactFactory() {
            public Object create(String ref, Class<?> type, ClassLoader loader) {
                Supplier<Object> known = artifacts.get(ref);
                return known == null ? null : known.get();
            }

            public Class<?> getArtifactClass(String ref, ClassLoader loader) {
                Object made = create(ref, null, loader);
                return made == null ? null : made.getClass();
            }

            public void destroy(Object artifact) {}
        };
        BatchEnvironment environment = new BatchEnvironment() {
            public ClassLoader getClassLoader() {
                return JBeretPeer.class.getClassLoader();
            }

            public ArtifactFactory getArtifactFactory() {
                return factory;
            }

            public void submitTask(JobTask task) {
                executor.execute(task);
            }

            public TransactionManager getTransactionManager() {
                return transactions;
            }

            public JobRepository getJobRepository() {
                return repository;
            }

            public JobXmlResolver getJobXmlResolver() {
                return new MetaInfBatchJobsJobXmlResolver();
            }

            public Properties getBatchConfigurationProperties() {
                return settings;
            }

            public String getApplicationName() {
                return "peers";
            }
        };
        JobOperatorImpl operator = new JobOperatorImpl(environment);
        Properties parameters = new Properties();
        parameters.setProperty("ic", Integer.toString(Paper.itemCount));
        long id = operator.start("paper", parameters);
        JobExecutionImpl execution = (JobExecutionImpl) operator.getJobExecution(id);
        execution.awaitTermination(30, TimeUnit.MINUTES);
        if (execution.getBatchStatus() != BatchStatus.COMPLETED) {
            System.err.println("the job ended " + execution.getBatchStatus());
            System.exit(1);
        }
        Paper.report("jberet");
        System.exit(0);
    }
}
