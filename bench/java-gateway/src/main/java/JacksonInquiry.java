import java.nio.file.Path;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;

import com.fasterxml.jackson.databind.ObjectMapper;
import scala.reflect.ClassTag$;
import za.co.absa.cobrix.cobol.parser.ast.Group;

/** JSON as services commonly make it: maps, written by Jackson. */
final class JacksonInquiry extends CarInquiry<Map<String, Object>> {
  private final ObjectMapper mapper = new ObjectMapper();
  private Map<String, String[]> names;

  JacksonInquiry(Path copybook, Path record) throws Exception {
    super(copybook, record, ClassTag$.MODULE$.apply(Map.class));
  }

  @Override
  void prepare(Group group, String[] of) {
    if (names == null) {
      names = new HashMap<>();
    }
    names.put(group.name(), of);
  }

  @Override
  public Map<String, Object> create(Object[] values, Group group) {
    String[] of = names.get(group.name());
    Map<String, Object> map = new LinkedHashMap<>();
    for (int i = 0; i < of.length; i++) {
      if (of[i] != null) {
        map.put(of[i], values[i]);
      }
    }
    return map;
  }

  @Override
  Json json(Map<String, Object> record) throws Exception {
    byte[] bytes = mapper.writeValueAsBytes(Map.of("CAR100CP", record));
    return new Json(bytes, bytes.length);
  }
}
