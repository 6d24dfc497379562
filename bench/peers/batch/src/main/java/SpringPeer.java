import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import javax.sql.DataSource;
import org.springframework.batch.core.BatchStatus;
import org.springframework.batch.core.ExitStatus;
import org.springframework.batch.core.configuration.annotation.EnableBatchProcessing;
import org.springframework.batch.core.configuration.annotation.EnableJdbcJobRepository;
import org.springframework.batch.core.job.Job;
import org.springframework.batch.core.job.JobExecution;
import org.springframework.batch.core.job.builder.JobBuilder;
import org.springframework.batch.core.job.parameters.JobParametersBuilder;
import org.springframework.batch.core.launch.JobOperator;
import org.springframework.batch.core.listener.StepExecutionListener;
import org.springframework.batch.core.repository.JobRepository;
import org.springframework.batch.core.step.Step;
import org.springframework.batch.core.step.StepExecution;
import org.springframework.batch.core.step.builder.StepBuilder;
import org.springframework.batch.infrastructure.item.Chunk;
import org.springframework.batch.infrastructure.item.ExecutionContext;
import org.springframework.batch.infrastructure.item.ItemStreamException;
import org.springframework.batch.infrastructure.item.ItemStreamReader;
import org.springframework.batch.infrastructure.item.ItemStreamWriter;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.ClassPathResource;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.init.ResourceDatabasePopulator;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

/** Spring Batch over one source of connections, so that its repository and the rows commit together. */
public final class SpringPeer {
    private static final String SCHEMA = "org/springframework/batch/core/schema-postgresql.sql";

    @Configuration
    @EnableBatchProcessing
    @EnableJdbcJobRepository
    public static class Settings {
        @Bean
        public DataSource dataSource() {
            HikariConfig config = new HikariConfig();
            config.setJdbcUrl(Paper.url);
            config.setUsername(Paper.user);
            return new HikariDataSource(config);
        }

        @Bean
        public PlatformTransactionManager transactionManager(DataSource source) {
            return new JdbcTransactionManager(source);
        }
    }

    private static final class Lines implements ItemStreamReader<String> {
        private final Paper.Reader reader = new Paper.Reader();
        private final String data = "r".repeat(reader.data.length);

        @Override
        public void open(ExecutionContext context) {
            try {
                reader.open();
            } catch (Exception exception) {
                throw new ItemStreamException(exception);
            }
        }

        @Override
        public String read() throws Exception {
            return reader.read();
        }

        @Override
        public void update(ExecutionContext context) {
            context.putLong("position", reader.position);
            context.put("reader", data);
        }

        @Override
        public void close() {
            try {
                reader.close();
            } catch (Exception exception) {
                throw new ItemStreamException(exception);
            }
        }
    }

    private static final class Rows implements ItemStreamWriter<String> {
        private final DataSource source;
        private final Paper.Writer writer = new Paper.Writer();
        private final String data = "w".repeat(writer.data.length);

        Rows(DataSource source) {
            this.source = source;
        }

        @Override
        public void write(Chunk<? extends String> chunk) throws Exception {
            Connection connection = DataSourceUtils.getConnection(source);
            try {
                writer.write(connection, chunk.size());
            } finally {
                DataSourceUtils.releaseConnection(connection, source);
            }
        }

        @Override
        public void update(ExecutionContext context) {
            context.put("writer", data);
        }
    }

    private static final class Times implements StepExecutionListener {
        @Override
        public void beforeStep(StepExecution step) {
            Paper.begin = System.nanoTime();
        }

        @Override
        public ExitStatus afterStep(StepExecution step) {
            Paper.end = System.nanoTime();
            return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Paper.arguments(arguments);
        DataSource plain = new DriverManagerDataSource(Paper.url, Paper.user, "");
        try {
            new ResourceDatabasePopulator(new ClassPathResource(SCHEMA)).execute(plain);
        } catch (RuntimeException exception) {
            // The tables of an earlier run are there.
        }
        var context = new AnnotationConfigApplicationContext(Settings.class);
        JobRepository repository = context.getBean(JobRepository.class);
        DataSource source = context.getBean(DataSource.class);
        PlatformTransactionManager transactions = context.getBean(PlatformTransactionManager.class);
        Lines reader = new Lines();
        Rows writer = new Rows(source);
        Step step = new StepBuilder("step", repository)
                .<String, String>chunk(Paper.itemCount)
                .transactionManager(transactions)
                .reader(reader)
                .writer(writer)
                .stream(reader)
                .stream(writer)
                .listener(new Times())
                .build();
        Job job = new JobBuilder("paper", repository).start(step).build();
        var parameters = new JobParametersBuilder().addLong("time", System.nanoTime()).toJobParameters();
        JobExecution execution = context.getBean(JobOperator.class).start(job, parameters);
        if (execution.getStatus() != BatchStatus.COMPLETED) {
            execution.getAllFailureExceptions().forEach(Throwable::printStackTrace);
            System.exit(1);
        }
        Paper.report("spring");
        System.exit(0);
    }
}
