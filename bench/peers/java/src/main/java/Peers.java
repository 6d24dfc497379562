import io.xlate.edi.schema.Schema;
import io.xlate.edi.schema.SchemaFactory;
import io.xlate.edi.stream.EDIInputFactory;
import io.xlate.edi.stream.EDIStreamEvent;
import io.xlate.edi.stream.EDIStreamReader;
import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.OutputStream;
import javax.xml.stream.XMLStreamReader;
import javax.xml.transform.TransformerFactory;
import javax.xml.transform.stax.StAXSource;
import javax.xml.transform.stream.StreamResult;

/** Peers events|text|xml|validate FILE [SCHEMA]: reads an interchange with StAEDI and prints a number that depends on all of it. */
public final class Peers {
  public static void main(String[] arguments) throws Exception {
    EDIInputFactory factory = EDIInputFactory.newFactory();
    long sum = 0;
    try (InputStream input = new BufferedInputStream(new FileInputStream(arguments[1]), 1 << 16)) {
      EDIStreamReader reader = factory.createEDIStreamReader(input);
      if (arguments[0].equals("xml")) {
        XMLStreamReader xml = factory.createXMLStreamReader(reader);
        xml.next();
        TransformerFactory.newInstance().newTransformer()
            .transform(new StAXSource(xml), new StreamResult(OutputStream.nullOutputStream()));
        return;
      }
      Schema schema = arguments.length > 2 ? SchemaFactory.newFactory().createSchema(new FileInputStream(arguments[2])) : null;
      boolean text = !arguments[0].equals("events");
      while (reader.hasNext()) {
        EDIStreamEvent event = reader.next();
        if (event == EDIStreamEvent.START_TRANSACTION && schema != null) {
          reader.setTransactionSchema(schema);
        } else if (event == EDIStreamEvent.ELEMENT_DATA && text) {
          sum += reader.getText().length() + 1;
        } else if (event == EDIStreamEvent.ELEMENT_DATA_ERROR || event == EDIStreamEvent.ELEMENT_OCCURRENCE_ERROR
            || event == EDIStreamEvent.SEGMENT_ERROR) {
          System.err.println(reader.getErrorType() + " " + reader.getLocation());
        }
      }
    }
    System.out.println(sum);
  }
}
