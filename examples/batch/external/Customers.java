import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Artifacts of a Quayline job in one file: {@code java Customers.java reader|processor|writer|algorithm|mapper|collector|analyzer|reducer}. The
 * protocol is in docs/reference/artifact-protocol.md. Each kind is a class with the methods of its interface below.
 */
public class Customers {
    interface Artifact {
        default void open(byte[] position) throws Exception {}

        default void close(boolean complete) throws Exception {}
    }

    /** Answers the next item with the position after it, or null at the end. */
    interface Reader extends Artifact {
        byte[][] read() throws Exception;
    }

    /** Answers the item to write, or null to leave it out. */
    interface Processor extends Artifact {
        byte[] process(byte[] item) throws Exception;
    }

    /** Writes the items of a chunk so that they survive a crash. Answers the position after them. */
    interface Writer extends Artifact {
        byte[] write(List<byte[]> items) throws Exception;
    }

    /** Decides when a chunk ends. */
    interface Algorithm extends Artifact {
        /** A chunk begins: the number of items after which ready() is called first. */
        int begin() throws Exception;

        /** The chunk has so many items: 0 ends it, another number asks again after so many more. */
        int ready(int items) throws Exception;
    }

    /** Answers the properties of each partition. A restart with another plan fails, because main() says "repeats" for it. */
    interface Mapper extends Artifact {
        List<Map<String, String>> plan() throws Exception;
    }

    /** Answers data for the analyzer, after each commit of its partition and at its end, or null. */
    interface Collector extends Artifact {
        byte[] collect(Map<String, Long> metrics) throws Exception;
    }

    /** Sees what partitions collect and how they end. A text that it answers becomes the exit status of the step. */
    interface Analyzer extends Artifact {
        String analyze(byte[] data) throws Exception;

        default String status(String status, String exitStatus) throws Exception {
            return null;
        }
    }

    /** Sees the step as a whole. A text that it answers becomes the exit status of the step. */
    interface Reducer extends Artifact {
        default String begin() throws Exception {
            return null;
        }

        default String beforeCompletion() throws Exception {
            return null;
        }

        default String rollback() throws Exception {
            return null;
        }

        default String afterCompletion(String outcome) throws Exception {
            return null;
        }
    }

    static final Map<String, String> PROPERTIES = new HashMap<>();
    /** Number of the partition, or null. */
    static String partition;

    static class Lines implements Reader {
        private InputStream file;
        private long offset;

        public void open(byte[] position) throws IOException {
            var opened = new RandomAccessFile(PROPERTIES.get("file"), "r");
            offset = position == null ? 0 : Long.parseLong(text(position));
            opened.seek(offset);
            file = new BufferedInputStream(new java.io.FileInputStream(opened.getFD()));
        }

        public byte[][] read() throws IOException {
            var line = new ByteArrayOutputStream();
            int read = file.read();
            if (read < 0) return null;
            for (; read >= 0; read = file.read()) {
                offset++;
                if (read == '\n') break;
                line.write(read);
            }
            return new byte[][] {line.toByteArray(), bytes(Long.toString(offset))};
        }

        public void close(boolean complete) throws IOException {
            file.close();
        }
    }

    static class Names implements Processor {
        public byte[] process(byte[] item) {
            String text = text(item);
            int number = Integer.parseInt(text.substring(0, 4));
            String name = text.substring(4, 19).trim();
            return name.isEmpty() ? null : bytes(number + ";" + name);
        }
    }

    static class Append implements Writer {
        private RandomAccessFile file;

        public void open(byte[] position) throws IOException {
            file = new RandomAccessFile(PROPERTIES.get("file"), "rw");
            // What was written after the checkpoint is undone.
            file.setLength(position == null ? 0 : Long.parseLong(text(position)));
            file.seek(file.length());
        }

        public byte[] write(List<byte[]> items) throws IOException {
            var lines = new ByteArrayOutputStream();
            for (byte[] item : items) {
                lines.writeBytes(item);
                lines.write('\n');
            }
            file.write(lines.toByteArray());
            file.getFD().sync();
            return bytes(Long.toString(file.length()));
        }

        public void close(boolean complete) throws IOException {
            file.close();
        }
    }

    static class Twenty implements Algorithm {
        public int begin() {
            return 20;
        }

        public int ready(int items) {
            return 0;
        }
    }

    /** Splits the lines of the property file into ranges of bytes. */
    static class Ranges implements Mapper {
        public List<Map<String, String>> plan() throws IOException {
            List<Map<String, String>> plan = new ArrayList<>();
            int count = Integer.parseInt(PROPERTIES.getOrDefault("partitions", "2"));
            try (var file = new RandomAccessFile(PROPERTIES.get("file"), "r")) {
                long begin = 0;
                for (int number = 1; number <= count; number++) {
                    // From the byte before, so that a line that begins here is found.
                    file.seek(Math.max(file.length() * number / count - 1, 0));
                    file.readLine();
                    long end = Math.max(begin, file.getFilePointer());
                    plan.add(Map.of("from", Long.toString(begin), "to", Long.toString(end)));
                    begin = end;
                }
            }
            return plan;
        }
    }

    static class Written implements Collector {
        public byte[] collect(Map<String, Long> metrics) {
            return bytes(partition + "=" + metrics.get("WRITE_COUNT"));
        }
    }

    /** The exit status of the step is the number of items that all partitions have written. */
    static class Sum implements Analyzer {
        private final Map<String, Long> written = new HashMap<>();

        public String analyze(byte[] data) {
            String[] words = text(data).split("=");
            written.put(words[0], Long.parseLong(words[1]));
            return Long.toString(written.values().stream().mapToLong(Long::longValue).sum());
        }
    }

    /** Leaves the property file if all partitions completed. */
    static class Done implements Reducer {
        public String afterCompletion(String outcome) throws IOException {
            var path = java.nio.file.Path.of(PROPERTIES.get("file"));
            if (outcome.equals("commit")) java.nio.file.Files.writeString(path, "all partitions completed\n");
            else java.nio.file.Files.deleteIfExists(path);
            return null;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Artifact artifact =
                switch (arguments[0]) {
                    case "reader" -> new Lines();
                    case "processor" -> new Names();
                    case "writer" -> new Append();
                    case "algorithm" -> new Twenty();
                    case "mapper" -> new Ranges();
                    case "collector" -> new Written();
                    case "analyzer" -> new Sum();
                    case "reducer" -> new Done();
                    default -> throw new IllegalArgumentException(arguments[0]);
                };
        var input = new BufferedInputStream(System.in, 1 << 16);
        var output = new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16);
        // What a library prints must not become a part of the answers.
        System.setOut(System.err);
        for (Frame frame = receive(input); frame != null; frame = receive(input)) {
            Frame answer;
            try {
                answer = answer(artifact, frame);
            } catch (Exception exception) {
                answer = new Frame("throw", thrown(exception));
            }
            send(output, answer);
        }
    }

    /** The exception that comes with the next request, after the items before it were delivered. */
    private static Exception failed;

    private static Frame answer(Artifact artifact, Frame frame) throws Exception {
        List<byte[]> fields = frame.fields, answer = new ArrayList<>();
        switch (frame.verb) {
            case "hello" -> {
                if (fields.get(6) != null) partition = text(fields.get(6));
                for (int at = 7; at + 1 < fields.size(); at += 2) PROPERTIES.put(text(fields.get(at)), text(fields.get(at + 1)));
                if (artifact instanceof Mapper) answer.add(bytes("repeats"));
            }
            case "open" -> {
                failed = null;
                artifact.open(fields.get(0));
            }
            case "close" -> artifact.close(fields.isEmpty() || text(fields.get(0)).equals("complete"));
            case "read" -> {
                if (failed != null) {
                    Exception now = failed;
                    failed = null;
                    throw now;
                }
                answer.add(bytes("more"));
                for (int count = Integer.parseInt(text(fields.get(0))); count > 0; count--) {
                    try {
                        byte[][] found = ((Reader) artifact).read();
                        if (found == null) {
                            answer.set(0, bytes("end"));
                            break;
                        }
                        answer.addAll(List.of(found));
                    } catch (Exception exception) {
                        if (answer.size() == 1) throw exception;
                        failed = exception;
                        break;
                    }
                }
            }
            case "process" -> {
                for (byte[] item : fields) {
                    try {
                        answer.add(((Processor) artifact).process(item));
                    } catch (Exception exception) {
                        answer.add(0, bytes(Integer.toString(answer.size())));
                        answer.addAll(thrown(exception));
                        return new Frame("partly", answer);
                    }
                }
            }
            case "write" -> answer.add(((Writer) artifact).write(fields));
            case "plan" -> {
                answer.add(null);
                answer.add(bytes("keep"));
                for (var properties : ((Mapper) artifact).plan()) {
                    answer.add(bytes(Integer.toString(properties.size())));
                    properties.forEach((name, value) -> answer.addAll(List.of(bytes(name), bytes(value))));
                }
            }
            case "collect" -> {
                Map<String, Long> metrics = new HashMap<>();
                for (int at = 0; at + 1 < fields.size(); at += 2) metrics.put(text(fields.get(at)), Long.parseLong(text(fields.get(at + 1))));
                answer.add(((Collector) artifact).collect(metrics));
            }
            case "begin" -> {
                if (artifact instanceof Algorithm algorithm) answer.add(bytes(Integer.toString(algorithm.begin())));
                else status(answer, ((Reducer) artifact).begin());
            }
            case "ready" -> answer.add(bytes(Integer.toString(((Algorithm) artifact).ready(Integer.parseInt(text(fields.get(0)))))));
            case "analyze" -> status(answer, ((Analyzer) artifact).analyze(fields.get(0)));
            case "status" -> status(answer, ((Analyzer) artifact).status(text(fields.get(0)), text(fields.get(1))));
            case "before-completion" -> status(answer, ((Reducer) artifact).beforeCompletion());
            case "rollback" -> status(answer, ((Reducer) artifact).rollback());
            case "after-completion" -> status(answer, ((Reducer) artifact).afterCompletion(text(fields.get(0))));
            default -> throw new IllegalStateException("the verb " + frame.verb + " is not known");
        }
        return new Frame("ok", answer);
    }

    private static void status(List<byte[]> answer, String status) {
        if (status != null) answer.add(bytes(status));
    }

    /** An exception: its message, its class and its superclasses. */
    private static List<byte[]> thrown(Exception exception) {
        List<byte[]> fields = new ArrayList<>();
        fields.add(bytes(String.valueOf(exception.getMessage())));
        for (Class<?> of = exception.getClass(); of != Object.class; of = of.getSuperclass()) fields.add(bytes(of.getName()));
        return fields;
    }

    record Frame(String verb, List<byte[]> fields) {}

    private static Frame receive(InputStream input) throws IOException {
        String head = line(input);
        if (head == null) return null;
        String[] words = head.split(" ");
        List<byte[]> fields = new ArrayList<>();
        for (int left = Integer.parseInt(words[1]); left > 0; left--) {
            String length = line(input);
            if (length.equals("-")) {
                fields.add(null);
                continue;
            }
            fields.add(input.readNBytes(Integer.parseInt(length)));
            input.read();
        }
        return new Frame(words[0], fields);
    }

    private static String line(InputStream input) throws IOException {
        var line = new StringBuilder();
        int read = input.read();
        if (read < 0) return null;
        for (; read != '\n' && read >= 0; read = input.read()) line.append((char) read);
        return line.toString();
    }

    private static void send(OutputStream output, Frame frame) throws IOException {
        output.write(bytes(frame.verb + " " + frame.fields.size() + "\n"));
        for (byte[] field : frame.fields) {
            if (field == null) {
                output.write(bytes("-\n"));
                continue;
            }
            output.write(bytes(field.length + "\n"));
            output.write(field);
            output.write('\n');
        }
        output.flush();
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
