import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;

/** The paper's reader and writer without any framework, so that both peers run the same. */
final class Paper {
    static long records = 200_000;
    static int itemCount = 1_000;
    static int checkpointBytes = 1_024;
    static String file = "accounts.txt";
    static String url = "jdbc:postgresql://127.0.0.1:5432/postgres?reWriteBatchedInserts=true";
    static String user = "quayline";
    /** Begin and end of the step, in nanoseconds. */
    static volatile long begin, end;

    static void arguments(String[] arguments) {
        for (String argument : arguments) {
            String[] parts = argument.split("=", 2);
            switch (parts[0]) {
                case "n" -> records = Long.parseLong(parts[1]);
                case "ic" -> itemCount = Integer.parseInt(parts[1]);
                case "checkpoint" -> checkpointBytes = Integer.parseInt(parts[1]);
                case "file" -> file = parts[1];
                case "url" -> url = parts[1];
                case "user" -> user = parts[1];
                default -> throw new IllegalArgumentException(argument);
            }
        }
    }

    /** Lines of a file that is opened again at its end. */
    static final class Reader {
        final byte[] data = new byte[Math.max(0, checkpointBytes - 8)];
        long position;
        private BufferedReader lines;

        void open() throws IOException {
            lines = Files.newBufferedReader(Path.of(file), StandardCharsets.ISO_8859_1);
        }

        String read() throws IOException {
            if (position >= records) return null;
            position++;
            String line = lines.readLine();
            if (line == null) {
                lines.close();
                open();
                line = lines.readLine();
            }
            return line;
        }

        void close() throws IOException {
            lines.close();
        }
    }

    /** A chunk of rows is inserted with one batch, and deleted in the next chunk with a statement for each row. */
    static final class Writer {
        private static final String INSERT =
                "INSERT INTO account(account_number,balance,instance_id,acct_code) VALUES (?,?,?,?)";
        private static final String DELETE = "DELETE FROM account WHERE account_number=?";
        final byte[] data = new byte[Math.max(0, checkpointBytes - 8)];
        private boolean inserts = true;

        void write(Connection connection, int count) throws SQLException {
            try (PreparedStatement statement = connection.prepareStatement(inserts ? INSERT : DELETE)) {
                for (int row = 0; row < count; row++) {
                    statement.setLong(1, row);
                    if (inserts) {
                        statement.setInt(2, row % 1_000);
                        statement.setLong(3, 1);
                        statement.setString(4, "CHK");
                        statement.addBatch();
                    } else {
                        statement.executeUpdate();
                    }
                }
                if (inserts) statement.executeBatch();
            }
            inserts = !inserts;
        }
    }

    /** The line that the bench reads. */
    static void report(String engine) {
        System.out.printf("RESULT engine=%s records=%d ms=%.1f%n", engine, records, (end - begin) / 1e6);
    }
}
