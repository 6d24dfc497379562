import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Map;

import scala.reflect.ClassTag$;
import za.co.absa.cobrix.cobol.parser.ast.Group;

/**
 * JSON by hand, as fast as we know how: keys are bytes made once, everything goes straight into one buffer that is used again, and the tree that
 * Cobrix makes is walked without a look-up by name.
 */
final class TunedInquiry extends CarInquiry<TunedInquiry.Node> {
  private Map<Group, byte[][]> keys;
  private byte[] json = new byte[256 << 10];
  private int length;

  /** A group: its values, and the keys to write before them. */
  record Node(byte[][] keys, Object[] values) {}

  TunedInquiry(Path copybook, Path record) throws Exception {
    super(copybook, record, ClassTag$.MODULE$.apply(Node.class));
  }

  @Override
  void prepare(Group group, String[] names) {
    if (keys == null) {
      keys = new IdentityHashMap<>();
    }
    byte[][] of = new byte[names.length][];
    for (int i = 0; i < names.length; i++) {
      of[i] = names[i] == null ? null : ('"' + names[i] + "\":").getBytes(StandardCharsets.US_ASCII);
    }
    keys.put(group, of);
  }

  @Override
  public Node create(Object[] values, Group group) {
    return new Node(keys.get(group), values);
  }

  @Override
  Json json(Node record) {
    length = 0;
    raw("{\"CAR100CP\":");
    write(record);
    put('}');
    return new Json(json, length);
  }

  private void write(Object value) {
    if (value instanceof String text) {
      string(text);
    } else if (value instanceof Node node) {
      char before = '{';
      for (int i = 0; i < node.values.length; i++) {
        byte[] key = node.keys[i];
        if (key != null) {
          put(before);
          before = ',';
          raw(key);
          write(node.values[i]);
        }
      }
      if (before == '{') {
        put('{');
      }
      put('}');
    } else if (value instanceof Object[] list) {
      put('[');
      for (int i = 0; i < list.length; i++) {
        if (i > 0) {
          put(',');
        }
        write(list[i]);
      }
      put(']');
    } else {
      // Numbers, and null for a blank one.
      raw(String.valueOf(value));
    }
  }

  @SuppressWarnings("deprecation") // the one way to copy Latin-1 text without an array between
  private void string(String text) {
    int size = text.length();
    room(6 * size + 2);
    json[length++] = '"';
    text.getBytes(0, size, json, length);
    for (int i = 0; i < size; i++) {
      char c = text.charAt(i);
      if (c < ' ' || c == '"' || c == '\\' || c >= 0x7f) {
        escaped(text, i);
        return;
      }
    }
    length += size;
    json[length++] = '"';
  }

  private void escaped(String text, int from) {
    length += from;
    for (int i = from; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        json[length++] = '\\';
        json[length++] = (byte) c;
      } else if (c < ' ' || c >= 0x7f) {
        raw(String.format("\\u%04x", (int) c));
      } else {
        json[length++] = (byte) c;
      }
    }
    put('"');
  }

  private void put(char c) {
    room(1);
    json[length++] = (byte) c;
  }

  private void raw(byte[] text) {
    room(text.length);
    System.arraycopy(text, 0, json, length, text.length);
    length += text.length;
  }

  private void raw(String text) {
    raw(text.getBytes(StandardCharsets.US_ASCII));
  }

  private void room(int more) {
    if (json.length - length < more) {
      json = Arrays.copyOf(json, 2 * json.length + more);
    }
  }
}
