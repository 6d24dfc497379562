import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;

import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.reflect.ClassTag;
import scala.runtime.BoxedUnit;
import za.co.absa.cobrix.cobol.parser.Copybook;
import za.co.absa.cobrix.cobol.parser.CopybookParser$;
import za.co.absa.cobrix.cobol.parser.ast.Group;
import za.co.absa.cobrix.cobol.parser.ast.Statement;
import za.co.absa.cobrix.cobol.parser.encoding.EBCDIC$;
import za.co.absa.cobrix.cobol.parser.encoding.codepage.CodePage;
import za.co.absa.cobrix.cobol.parser.policies.StringTrimmingPolicy$;
import za.co.absa.cobrix.cobol.reader.extractors.record.RecordExtractors$;
import za.co.absa.cobrix.cobol.reader.extractors.record.RecordHandler;
import za.co.absa.cobrix.cobol.reader.policies.SchemaRetentionPolicy$;

/**
 * The car inquiry: parameters to a COMMAREA, a stored record as the program's answer, that record decoded by Cobrix.
 *
 * How the values become JSON is a subclass's business; T is what it makes of a group. Not safe for several threads.
 */
abstract class CarInquiry<T> implements RecordHandler<T> {
  private static final int RECORD_BYTES = 30_128;
  private static final int CARS_AT = 44;
  private static final int DEALERS_AT = 48;
  private static final Set<String> LEFT_OUT =
      Set.of("REQ_TXN_REQUEST_BLOCK", "RESP_TXN_INPUT_DATA_LEN", "RESP_TXN_OUTPUT_DATA_LEN", "RESP_TXN_DATA_LEN");

  private final Group layout;
  private final ClassTag<T> tag;
  private final byte[] stored;
  private final byte[] blankRequest;

  CarInquiry(Path copybook, Path record, ClassTag<T> tag) throws Exception {
    CopybookParser$ parser = CopybookParser$.MODULE$;
    String text = "       01 CAR100CP.\n" + Files.readString(copybook);
    Copybook parsed = parser.parse(text, EBCDIC$.MODULE$, true, true, parser.parse$default$5(), parser.parse$default$6(),
        parser.parse$default$7(), StringTrimmingPolicy$.MODULE$.TrimRight(), parser.parse$default$9(), parser.parse$default$10(),
        parser.parse$default$11(), parser.parse$default$12(), CodePage.getCodePageByName("cp037"), parser.parse$default$14(),
        parser.parse$default$15(), parser.parse$default$16(), parser.parse$default$17(), parser.parse$default$18(),
        parser.parse$default$19(), parser.parse$default$20());
    layout = parsed.ast();
    this.tag = tag;
    stored = Files.readAllBytes(record);
    blankRequest = new byte[RECORD_BYTES];
    Arrays.fill(blankRequest, 0, CARS_AT, " ".getBytes(Charset.forName("IBM037"))[0]);
    visit(layout);
  }

  private void visit(Group group) {
    String[] names = new String[group.nonFillerSize()];
    int at = 0;
    for (Statement child : JavaConverters.seqAsJavaList(group.children())) {
      if (!child.isFiller()) {
        names[at++] = LEFT_OUT.contains(child.name()) ? null : child.name();
      }
      if (child instanceof Group inner) {
        visit(inner);
      }
    }
    prepare(group, names);
  }

  /** Called once for each group: the names of its values in the order in which Cobrix gives them; null is left out. */
  abstract void prepare(Group group, String[] names);

  /** The answer's JSON. */
  abstract Json json(T record) throws Exception;

  /** JSON, in an array that is another answer's later. */
  record Json(byte[] bytes, int length) {}

  /** The answer to a query string. */
  Json answer(String query) throws Exception {
    byte[] record = call(request(query));
    RecordExtractors$ extractors = RecordExtractors$.MODULE$;
    Seq<Object> root = extractors.extractRecord(layout, record, 0, SchemaRetentionPolicy$.MODULE$.KeepOriginal(), true, false, false,
        extractors.extractRecord$default$8(), 0, 0L, "", false, "", this, tag);
    @SuppressWarnings("unchecked") // what `create` made of the root
    T made = (T) root.apply(0);
    return json(made);
  }

  @Override
  public Seq<Object> toSeq(T group) {
    throw new UnsupportedOperationException("only for records that are collapsed");
  }

  @Override
  public void foreach(T group, scala.Function1<Object, BoxedUnit> each) {
    throw new UnsupportedOperationException("only for records that are collapsed");
  }

  /** The parameters in a COMMAREA. */
  private byte[] request(String query) {
    byte[] area = blankRequest.clone();
    int cars = 100;
    int dealers = 25;
    if (query != null) {
      for (String pair : query.split("&")) {
        if (pair.startsWith("maxCars=")) {
          cars = bounded(pair.substring(8), 100);
        } else if (pair.startsWith("maxDealers=")) {
          dealers = bounded(pair.substring(11), 25);
        } else {
          throw new IllegalArgumentException("unknown parameter");
        }
      }
    }
    putInt(area, CARS_AT, cars);
    putInt(area, DEALERS_AT, dealers);
    return area;
  }

  /** Stands for the program: its answer lies in a file. */
  private byte[] call(byte[] area) {
    System.arraycopy(stored, 0, area, 0, RECORD_BYTES);
    return area;
  }

  private static int bounded(String text, int most) {
    int value = Integer.parseInt(text);
    if (value < 0 || value > most) {
      throw new IllegalArgumentException("out of range");
    }
    return value;
  }

  private static void putInt(byte[] area, int at, int value) {
    area[at] = (byte) (value >> 24);
    area[at + 1] = (byte) (value >> 16);
    area[at + 2] = (byte) (value >> 8);
    area[at + 3] = (byte) value;
  }
}
