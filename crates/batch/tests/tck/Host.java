// Hosts Java artifacts for an engine in another process, and gives tests a JobOperator that drives that engine. Tests only.
//
// A message is a list of byte strings: number of parts, then length and bytes of each, high byte first. The engine opens one connection for each of
// its threads and sends `new` and `call`; while a call runs, the artifact may send `ctx` back on the same connection.

import jakarta.batch.api.*;
import jakarta.batch.api.chunk.*;
import jakarta.batch.api.chunk.listener.*;
import jakarta.batch.api.listener.*;
import jakarta.batch.api.partition.*;
import jakarta.batch.operations.*;
import jakarta.batch.runtime.*;
import jakarta.batch.runtime.context.*;
import jakarta.inject.Inject;
import java.io.*;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.*;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import javax.naming.Context;
import javax.naming.spi.InitialContextFactory;
import javax.sql.DataSource;

public class Host implements JobOperator {
    static final Map<String, String> CLASSES = new HashMap<>();
    static final Map<Long, Object> OBJECTS = new ConcurrentHashMap<>();
    static final Map<Long, Object> TRANSIENT = new ConcurrentHashMap<>();
    static final Map<Long, Properties> STEP_PROPERTIES = new ConcurrentHashMap<>();
    static final AtomicLong NEXT = new AtomicLong(1);
    static final ThreadLocal<Wire> CURRENT = new ThreadLocal<>();
    static Wire control;

    static final class Wire {
        final DataInputStream in;
        final DataOutputStream out;

        Wire(Socket socket) throws IOException {
            socket.setTcpNoDelay(true);
            in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
            out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()));
        }

        void send(List<byte[]> parts) throws IOException {
            out.writeInt(parts.size());
            for (byte[] part : parts) {
                out.writeInt(part.length);
                out.write(part);
            }
            out.flush();
        }

        List<byte[]> receive() throws IOException {
            int count = in.readInt();
            List<byte[]> parts = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                byte[] part = new byte[in.readInt()];
                in.readFully(part);
                parts.add(part);
            }
            return parts;
        }
    }

    static byte[] bytes(Object value) {
        return String.valueOf(value).getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static List<byte[]> message(Object... parts) {
        List<byte[]> list = new ArrayList<>();
        for (Object part : parts) {
            list.add(part instanceof byte[] b ? b : bytes(part));
        }
        return list;
    }

    static byte[] serialized(Object value) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        return bytes.toByteArray();
    }

    static Serializable deserialized(byte[] bytes) throws Exception {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            return (Serializable) in.readObject();
        }
    }

    static byte[] handle(Object value) {
        long id = NEXT.getAndIncrement();
        OBJECTS.put(id, value);
        return bytes(id);
    }

    static Object object(byte[] handle) {
        return OBJECTS.get(Long.parseLong(text(handle)));
    }

    // ---- artifacts

    static void begin() throws Exception {
        var resources = Host.class.getClassLoader().getResources("META-INF/batch.xml");
        var pattern = java.util.regex.Pattern.compile("<ref\\s+id=\"([^\"]+)\"\\s+class=\"([^\"]+)\"");
        while (resources.hasMoreElements()) {
            try (InputStream in = resources.nextElement().openStream()) {
                var matcher = pattern.matcher(text(in.readAllBytes()));
                while (matcher.find()) {
                    CLASSES.put(matcher.group(1), matcher.group(2));
                }
            }
        }
        ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        Thread accept = new Thread(() -> {
            while (true) {
                try {
                    Wire wire = new Wire(server.accept());
                    Thread thread = new Thread(() -> serve(wire));
                    thread.setDaemon(true);
                    thread.start();
                } catch (IOException e) {
                    return;
                }
            }
        });
        accept.setDaemon(true);
        accept.start();
        int port = Integer.getInteger("quayline.port");
        control = new Wire(new Socket(InetAddress.getLoopbackAddress(), port));
        control.send(message("hello", server.getLocalPort()));
        control.receive();
    }

    static void serve(Wire wire) {
        CURRENT.set(wire);
        try {
            while (true) {
                List<byte[]> request = wire.receive();
                List<byte[]> answer;
                try {
                    answer = switch (text(request.get(0))) {
                        case "new" -> make(request);
                        case "transaction" -> transaction(text(request.get(1)));
                        default -> call(request);
                    };
                } catch (Throwable thrown) {
                    Throwable cause = thrown instanceof java.lang.reflect.InvocationTargetException ? thrown.getCause() : thrown;
                    answer = message("thrown", handle(cause), cause.getMessage());
                    for (Class<?> type = cause.getClass(); type != null && type != Object.class; type = type.getSuperclass()) {
                        answer.add(bytes(type.getName()));
                    }
                }
                wire.send(answer);
            }
        } catch (IOException e) {
            // The engine's thread has ended.
        }
    }

    // ---- a database that commits with the chunk

    /** The connection of the engine's thread that this thread serves. */
    static final ThreadLocal<Connection> DATABASE = new ThreadLocal<>();

    /** Commits or rolls back what artifacts of this thread did in the database, sets a savepoint or goes back to it. */
    static List<byte[]> transaction(String how) throws SQLException {
        Connection connection = DATABASE.get();
        if (connection != null) {
            switch (how) {
                case "commit" -> connection.commit();
                case "rollback" -> connection.rollback();
                default -> {
                    try (var statement = connection.createStatement()) {
                        statement.execute(how.equals("mark") ? "SAVEPOINT chunk" : "ROLLBACK TO SAVEPOINT chunk");
                    }
                }
            }
        }
        return ok();
    }

    static Connection joined() throws SQLException {
        Connection connection = DATABASE.get();
        if (connection == null) {
            connection = DriverManager.getConnection(System.getProperty("quayline.database"));
            connection.setAutoCommit(false);
            DATABASE.set(connection);
        }
        return connection;
    }

    /** Names for artifacts of the suite that need a database: whatever is looked up is a source of the thread's connection. */
    public static final class Names implements InitialContextFactory {
        public Context getInitialContext(Hashtable<?, ?> environment) {
            return proxy(Context.class, (proxy, method, arguments) -> method.getName().equals("lookup") ? source() : null);
        }

        private static DataSource source() {
            return proxy(DataSource.class, (proxy, method, arguments) -> {
                Connection real = joined();
                return proxy(Connection.class, (inner, call, values) -> {
                    // The engine says when the transaction ends.
                    if (Set.of("close", "commit", "rollback", "setAutoCommit").contains(call.getName())) return null;
                    try {
                        return call.invoke(real, values);
                    } catch (java.lang.reflect.InvocationTargetException exception) {
                        throw exception.getCause();
                    }
                });
            });
        }

        private static <T> T proxy(Class<T> type, java.lang.reflect.InvocationHandler handler) {
            return type.cast(Proxy.newProxyInstance(Host.class.getClassLoader(), new Class<?>[] {type}, handler));
        }
    }

    static final Class<?>[] LISTENERS = {
        JobListener.class, StepListener.class, ChunkListener.class, ItemReadListener.class, ItemProcessListener.class, ItemWriteListener.class,
        SkipReadListener.class, SkipProcessListener.class, SkipWriteListener.class, RetryReadListener.class, RetryProcessListener.class,
        RetryWriteListener.class};

    // new ref jobContextId job instance execution stepContextId step stepExecution jobProperties# (k v)* stepProperties# (k v)* properties# (k v)*
    static List<byte[]> make(List<byte[]> request) throws Exception {
        String ref = text(request.get(1));
        Iterator<byte[]> rest = request.subList(2, request.size()).iterator();
        JobView job = new JobView(Long.parseLong(text(rest.next())), text(rest.next()), Long.parseLong(text(rest.next())), Long.parseLong(text(rest.next())));
        StepView step = new StepView(Long.parseLong(text(rest.next())), text(rest.next()), Long.parseLong(text(rest.next())));
        job.properties = properties(rest);
        Properties ofStep = properties(rest);
        // All artifacts of a step see what one of them sets.
        step.properties = STEP_PROPERTIES.computeIfAbsent(step.id, id -> ofStep);
        Properties properties = properties(rest);
        String name = CLASSES.getOrDefault(ref, ref);
        Class<?> type = Class.forName(name);
        var constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object artifact = constructor.newInstance();
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (field.getAnnotation(Inject.class) == null) {
                    continue;
                }
                field.setAccessible(true);
                BatchProperty property = field.getAnnotation(BatchProperty.class);
                if (property != null) {
                    String value = properties.getProperty(property.name().isEmpty() ? field.getName() : property.name());
                    if (value != null && !value.isEmpty()) {
                        field.set(artifact, converted(value, field.getType()));
                    }
                } else if (field.getType() == JobContext.class) {
                    field.set(artifact, job);
                } else if (field.getType() == StepContext.class) {
                    field.set(artifact, step);
                }
            }
        }
        List<byte[]> answer = message("ok", handle(artifact));
        for (Class<?> listener : LISTENERS) {
            if (listener.isInstance(artifact)) {
                answer.add(bytes(listener.getSimpleName()));
            }
        }
        return answer;
    }

    static Object converted(String value, Class<?> type) {
        if (type == Boolean.class) return Boolean.valueOf(value);
        if (type == Double.class) return Double.valueOf(value);
        if (type == Float.class) return Float.valueOf(value);
        if (type == Integer.class) return Integer.valueOf(value);
        if (type == Long.class) return Long.valueOf(value);
        if (type == Short.class) return Short.valueOf(value);
        return value;
    }

    static Properties properties(Iterator<byte[]> rest) {
        Properties properties = new Properties();
        int count = Integer.parseInt(text(rest.next()));
        for (int i = 0; i < count; i++) {
            properties.setProperty(text(rest.next()), text(rest.next()));
        }
        return properties;
    }

    static List<byte[]> ok(Object... parts) {
        List<byte[]> answer = message("ok");
        answer.addAll(message(parts));
        return answer;
    }

    static List<Object> items(List<byte[]> handles) {
        List<Object> items = new ArrayList<>();
        handles.forEach(handle -> items.add(object(handle)));
        return items;
    }

    static Serializable maybe(List<byte[]> arguments) throws Exception {
        return arguments.isEmpty() ? null : deserialized(arguments.get(0));
    }

    static List<byte[]> state(Serializable value) throws IOException {
        return value == null ? ok() : ok((Object) serialized(value));
    }

    static Exception exception(byte[] handle) {
        return object(handle) instanceof Exception e ? e : new RuntimeException("not an exception");
    }

    static List<byte[]> call(List<byte[]> request) throws Exception {
        Object artifact = object(request.get(1));
        List<byte[]> a = request.subList(3, request.size());
        switch (text(request.get(2))) {
            case "reader.open": ((ItemReader) artifact).open(maybe(a)); return ok();
            case "reader.read": { Object item = ((ItemReader) artifact).readItem(); return item == null ? ok() : ok((Object) handle(item)); }
            case "reader.checkpoint": return state(((ItemReader) artifact).checkpointInfo());
            case "reader.close": ((ItemReader) artifact).close(); return ok();
            case "process": { Object item = ((ItemProcessor) artifact).processItem(object(a.get(0))); return item == null ? ok() : ok((Object) handle(item)); }
            case "writer.open": ((ItemWriter) artifact).open(maybe(a)); return ok();
            case "writer.write": ((ItemWriter) artifact).writeItems(items(a)); return ok();
            case "writer.checkpoint": return state(((ItemWriter) artifact).checkpointInfo());
            case "writer.close": ((ItemWriter) artifact).close(); return ok();
            case "batchlet.process": { String status = ((Batchlet) artifact).process(); return status == null ? ok() : ok(status); }
            case "batchlet.stop": ((Batchlet) artifact).stop(); return ok();
            case "decide": return ok(((Decider) artifact).decide(steps(a)));
            case "algorithm.timeout": return ok(((CheckpointAlgorithm) artifact).checkpointTimeout());
            case "algorithm.begin": ((CheckpointAlgorithm) artifact).beginCheckpoint(); return ok();
            case "algorithm.ready": return ok(((CheckpointAlgorithm) artifact).isReadyToCheckpoint());
            case "algorithm.end": ((CheckpointAlgorithm) artifact).endCheckpoint(); return ok();
            case "plan": return plan(((PartitionMapper) artifact).mapPartitions());
            case "reducer.begin": ((PartitionReducer) artifact).beginPartitionedStep(); return ok();
            case "reducer.before": ((PartitionReducer) artifact).beforePartitionedStepCompletion(); return ok();
            case "reducer.rollback": ((PartitionReducer) artifact).rollbackPartitionedStep(); return ok();
            case "reducer.after": ((PartitionReducer) artifact).afterPartitionedStepCompletion(PartitionReducer.PartitionStatus.valueOf(text(a.get(0)))); return ok();
            case "collect": return state(((PartitionCollector) artifact).collectPartitionData());
            case "analyze.data": ((PartitionAnalyzer) artifact).analyzeCollectorData(maybe(a)); return ok();
            case "analyze.status": ((PartitionAnalyzer) artifact).analyzeStatus(BatchStatus.valueOf(text(a.get(0))), text(a.get(1))); return ok();
            case "job.before": ((JobListener) artifact).beforeJob(); return ok();
            case "job.after": ((JobListener) artifact).afterJob(); return ok();
            case "step.before": ((StepListener) artifact).beforeStep(); return ok();
            case "step.after": ((StepListener) artifact).afterStep(); return ok();
            case "chunk.before": ((ChunkListener) artifact).beforeChunk(); return ok();
            case "chunk.after": ((ChunkListener) artifact).afterChunk(); return ok();
            case "chunk.error": ((ChunkListener) artifact).onError(exception(a.get(0))); return ok();
            case "read.before": ((ItemReadListener) artifact).beforeRead(); return ok();
            case "read.after": ((ItemReadListener) artifact).afterRead(object(a.get(0))); return ok();
            case "read.error": ((ItemReadListener) artifact).onReadError(exception(a.get(0))); return ok();
            case "process.before": ((ItemProcessListener) artifact).beforeProcess(object(a.get(0))); return ok();
            case "process.after": ((ItemProcessListener) artifact).afterProcess(object(a.get(0)), a.size() > 1 ? object(a.get(1)) : null); return ok();
            case "process.error": ((ItemProcessListener) artifact).onProcessError(object(a.get(1)), exception(a.get(0))); return ok();
            case "write.before": ((ItemWriteListener) artifact).beforeWrite(items(a)); return ok();
            case "write.after": ((ItemWriteListener) artifact).afterWrite(items(a)); return ok();
            case "write.error": ((ItemWriteListener) artifact).onWriteError(items(a.subList(1, a.size())), exception(a.get(0))); return ok();
            case "skip.read": ((SkipReadListener) artifact).onSkipReadItem(exception(a.get(0))); return ok();
            case "skip.process": ((SkipProcessListener) artifact).onSkipProcessItem(object(a.get(1)), exception(a.get(0))); return ok();
            case "skip.write": ((SkipWriteListener) artifact).onSkipWriteItem(items(a.subList(1, a.size())), exception(a.get(0))); return ok();
            case "retry.read": ((RetryReadListener) artifact).onRetryReadException(exception(a.get(0))); return ok();
            case "retry.process": ((RetryProcessListener) artifact).onRetryProcessException(object(a.get(1)), exception(a.get(0))); return ok();
            case "retry.write": ((RetryWriteListener) artifact).onRetryWriteException(items(a.subList(1, a.size())), exception(a.get(0))); return ok();
            default: throw new IllegalStateException("no method " + text(request.get(2)));
        }
    }

    static List<byte[]> plan(PartitionPlan plan) {
        int count = plan.getPartitions();
        Properties[] all = plan.getPartitionProperties();
        List<byte[]> answer = ok(count, plan.getThreads() == count ? 0 : plan.getThreads(), plan.getPartitionsOverride());
        for (int i = 0; i < count; i++) {
            Properties of = all != null && i < all.length && all[i] != null ? all[i] : new Properties();
            answer.add(bytes(of.stringPropertyNames().size()));
            for (String name : of.stringPropertyNames()) {
                answer.addAll(message(name, of.getProperty(name)));
            }
        }
        return answer;
    }

    // ---- contexts: what is fixed is here, the rest is with the engine

    static List<byte[]> ctx(Object... parts) {
        try {
            Wire wire = CURRENT.get();
            List<byte[]> request = message("ctx");
            request.addAll(message(parts));
            wire.send(request);
            List<byte[]> answer = wire.receive();
            return answer.subList(1, answer.size());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static String one(List<byte[]> answer) {
        return answer.isEmpty() ? null : text(answer.get(0));
    }


    static final class JobView implements JobContext {
        final long id, instance, execution;
        final String job;
        Properties properties;

        JobView(long id, String job, long instance, long execution) {
            this.id = id;
            this.job = job;
            this.instance = instance;
            this.execution = execution;
        }

        public String getJobName() { return job; }
        public Object getTransientUserData() { return TRANSIENT.get(id); }
        public void setTransientUserData(Object data) { if (data == null) TRANSIENT.remove(id); else TRANSIENT.put(id, data); }
        public long getInstanceId() { return instance; }
        public long getExecutionId() { return execution; }
        public Properties getProperties() { return properties; }
        public BatchStatus getBatchStatus() { return BatchStatus.valueOf(one(ctx("job.status"))); }
        public String getExitStatus() { return one(ctx("job.exit")); }
        public void setExitStatus(String status) { if (status == null) ctx("job.exit.set"); else ctx("job.exit.set", status); }
    }

    static final class StepView implements StepContext {
        final long id, execution;
        final String step;
        Properties properties;

        StepView(long id, String step, long execution) {
            this.id = id;
            this.step = step;
            this.execution = execution;
        }

        public String getStepName() { return step; }
        public Object getTransientUserData() { return TRANSIENT.get(id); }
        public void setTransientUserData(Object data) { if (data == null) TRANSIENT.remove(id); else TRANSIENT.put(id, data); }
        public long getStepExecutionId() { return execution; }
        public Properties getProperties() { return properties; }
        public Serializable getPersistentUserData() {
            try { return maybe(ctx("step.data")); } catch (Exception e) { throw new IllegalStateException(e); }
        }
        public void setPersistentUserData(Serializable data) {
            try {
                if (data == null) ctx("step.data.set"); else ctx("step.data.set", serialized(data));
            } catch (IOException e) { throw new UncheckedIOException(e); }
        }
        public BatchStatus getBatchStatus() { return BatchStatus.valueOf(one(ctx("step.status"))); }
        public String getExitStatus() { return one(ctx("step.exit")); }
        public void setExitStatus(String status) { if (status == null) ctx("step.exit.set"); else ctx("step.exit.set", status); }
        public Exception getException() {
            List<byte[]> answer = ctx("step.exception");
            return answer.isEmpty() ? null : exception(answer.get(0));
        }
        public Metric[] getMetrics() { return metrics(ctx("step.metrics").iterator()); }
    }

    record Count(Metric.MetricType getType, long getValue) implements Metric {
        public Metric.MetricType getType() { return getType; }
        public long getValue() { return getValue; }
    }

    static Metric[] metrics(Iterator<byte[]> rest) {
        Metric[] metrics = new Metric[8];
        for (int i = 0; i < 8; i++) {
            metrics[i] = new Count(Metric.MetricType.valueOf(text(rest.next())), Long.parseLong(text(rest.next())));
        }
        return metrics;
    }

    // ---- the operator

    private static synchronized List<byte[]> ask(Object... parts) {
        return ask(message(parts));
    }

    private static synchronized List<byte[]> ask(List<byte[]> request) {
        try {
            if (control == null) {
                begin();
            }
            control.send(request);
            List<byte[]> answer = control.receive();
            if (text(answer.get(0)).equals("ok")) {
                return answer.subList(1, answer.size());
            }
            String message = text(answer.get(2));
            Class<?> type = Class.forName("jakarta.batch.operations." + text(answer.get(1)));
            throw (RuntimeException) type.getConstructor(String.class).newInstance(message);
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void add(List<byte[]> request, Properties properties) {
        if (properties != null) {
            for (String name : properties.stringPropertyNames()) {
                request.addAll(message(name, properties.getProperty(name)));
            }
        }
    }

    public long start(String name, Properties parameters) {
        try (InputStream in = Thread.currentThread().getContextClassLoader().getResourceAsStream("META-INF/batch-jobs/" + name + ".xml")) {
            if (in == null) {
                throw new JobStartException("no job XML " + name);
            }
            List<byte[]> system = message("system");
            for (String property : System.getProperties().stringPropertyNames()) {
                system.addAll(message(property, System.getProperty(property)));
            }
            ask(system);
            List<byte[]> request = message("start", name, in.readAllBytes());
            add(request, parameters);
            return Long.parseLong(one(ask(request)));
        } catch (IOException e) {
            throw new JobStartException(e);
        }
    }

    public long restart(long execution, Properties parameters) {
        List<byte[]> request = message("restart", execution);
        add(request, parameters);
        return Long.parseLong(one(ask(request)));
    }

    public void stop(long execution) { ask("stop", execution); }
    public void abandon(long execution) { ask("abandon", execution); }
    public int getJobInstanceCount(String job) { return Integer.parseInt(one(ask("count", job))); }

    public Set<String> getJobNames() {
        Set<String> names = new TreeSet<>();
        ask("names").forEach(name -> names.add(text(name)));
        return names;
    }

    public List<JobInstance> getJobInstances(String job, int start, int count) {
        List<JobInstance> instances = new ArrayList<>();
        ask("instances", job, start, count).forEach(id -> instances.add(new Instance(Long.parseLong(text(id)), job)));
        return instances;
    }

    public List<Long> getRunningExecutions(String job) {
        List<Long> running = new ArrayList<>();
        ask("running", job).forEach(id -> running.add(Long.parseLong(text(id))));
        return running;
    }

    public Properties getParameters(long execution) { return getJobExecution(execution).getJobParameters(); }

    public JobInstance getJobInstance(long execution) {
        List<byte[]> answer = ask("instance", execution);
        return new Instance(Long.parseLong(text(answer.get(0))), text(answer.get(1)));
    }

    public List<JobExecution> getJobExecutions(JobInstance instance) {
        List<JobExecution> executions = new ArrayList<>();
        ask("executions", instance.getInstanceId()).forEach(id -> executions.add(getJobExecution(Long.parseLong(text(id)))));
        return executions;
    }

    public JobExecution getJobExecution(long execution) { return new Execution(ask("execution", execution).iterator()); }
    public List<StepExecution> getStepExecutions(long execution) { return List.of(steps(ask("steps", execution))); }

    record Instance(long getInstanceId, String getJobName) implements JobInstance {
        public long getInstanceId() { return getInstanceId; }
        public String getJobName() { return getJobName; }
    }

    static Date date(byte[] ms) {
        return ms.length == 0 ? null : new Date(Long.parseLong(text(ms)));
    }

    static String maybe(byte[] text) {
        return text.length == 0 ? null : text(text);
    }

    static final class Execution implements JobExecution {
        final long id;
        final String job, exit;
        final BatchStatus status;
        final Date created, started, ended, updated;
        final Properties parameters;

        Execution(Iterator<byte[]> rest) {
            id = Long.parseLong(text(rest.next()));
            job = text(rest.next());
            status = BatchStatus.valueOf(text(rest.next()));
            exit = maybe(rest.next());
            created = date(rest.next());
            started = date(rest.next());
            ended = date(rest.next());
            updated = date(rest.next());
            parameters = properties(rest);
        }

        public long getExecutionId() { return id; }
        public String getJobName() { return job; }
        public BatchStatus getBatchStatus() { return status; }
        public Date getStartTime() { return started; }
        public Date getEndTime() { return ended; }
        public String getExitStatus() { return exit; }
        public Date getCreateTime() { return created; }
        public Date getLastUpdatedTime() { return updated; }
        public Properties getJobParameters() { return parameters; }
    }

    static StepExecution[] steps(List<byte[]> parts) {
        List<StepExecution> steps = new ArrayList<>();
        Iterator<byte[]> rest = parts.iterator();
        while (rest.hasNext()) {
            steps.add(new Step(rest));
        }
        return steps.toArray(new StepExecution[0]);
    }

    static final class Step implements StepExecution {
        final long id;
        final String step, exit;
        final BatchStatus status;
        final Date started, ended;
        final byte[] data;
        final Metric[] metrics;

        Step(Iterator<byte[]> rest) {
            id = Long.parseLong(text(rest.next()));
            step = text(rest.next());
            status = BatchStatus.valueOf(text(rest.next()));
            exit = maybe(rest.next());
            started = date(rest.next());
            ended = date(rest.next());
            data = rest.next();
            metrics = metrics(rest);
        }

        public long getStepExecutionId() { return id; }
        public String getStepName() { return step; }
        public BatchStatus getBatchStatus() { return status; }
        public Date getStartTime() { return started; }
        public Date getEndTime() { return ended; }
        public String getExitStatus() { return exit; }
        public Serializable getPersistentUserData() {
            try { return data.length == 0 ? null : deserialized(data); } catch (Exception e) { throw new IllegalStateException(e); }
        }
        public Metric[] getMetrics() { return metrics; }
    }
}
