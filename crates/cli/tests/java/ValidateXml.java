import java.io.File;
import javax.xml.XMLConstants;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.SchemaFactory;

/** Another reader's verdict: `java ValidateXml.java SCHEMA DOCUMENT`; says what is wrong and exits with 1. */
public class ValidateXml {
  public static void main(String[] arguments) throws Exception {
    var factory = SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI);
    var validator = factory.newSchema(new File(arguments[0])).newValidator();
    try {
      validator.validate(new StreamSource(new File(arguments[1])));
    } catch (org.xml.sax.SAXException error) {
      System.err.println(error.getMessage());
      System.exit(1);
    }
  }
}
