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
 * Artifacts of a Quayline job in one file: {@code java Customers.java reader|processor|writer}. The protocol is in
 * docs/reference/artifact-protocol.md. Each kind is a class with the methods of its interface below.
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

    static final Map<String, String> PROPERTIES = new HashMap<>();

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

    public static void main(String[] arguments) throws Exception {
        Artifact artifact =
                switch (arguments[0]) {
                    case "reader" -> new Lines();
                    case "processor" -> new Names();
                    case "writer" -> new Append();
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
                for (int at = 7; at + 1 < fields.size(); at += 2) PROPERTIES.put(text(fields.get(at)), text(fields.get(at + 1)));
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
            default -> throw new IllegalStateException("the verb " + frame.verb + " is not known");
        }
        return new Frame("ok", answer);
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
