//! The EBCDIC page proposed for records in a dozen languages.
//!
//! `inspect` proposed an uncommon page with 99 of 100 for ordinary Western data with one special character, such as IBM870 for
//! `NOTE [URGENT]` in IBM037. Each sample here is generated, so the right answer is known. The tests count the right first proposals,
//! and they allow no wrong one without an alternative.

use quayline_charset::Charset;
use quayline_infer::{CharsetProposal, RecordSample};

/// Texts of a language, and the pages in which its files are written.
struct Language {
    name: &'static str,
    pages: &'static [&'static str],
    texts: &'static [&'static str],
}

const LANGUAGES: &[Language] = &[
    Language {
        name: "English",
        pages: &["cp037", "cp1047", "cp1140"],
        texts: &[
            "CALL BACK NOW!",
            "NOTE [URGENT] CALL BACK",
            "a[1] = b[1];",
            "price $12.50 @ store #4",
            "A|B|C",
            "{\"a\": 5}",
            "Wow! great offer!",
            "see [3] and [4]",
            "Smith & Sons [Ltd]",
            "PRICE 50¢",
            "IF A ¬= B",
            "ACCOUNT #{4}",
            "x[i] = y[j]!",
            "[PAID]",
            "[x] wow!",
            "Payment due! See [terms]",
            "Order #88 [rush]",
            "O'Brien & Co. {west}",
            "Is it 5|6|7|8?",
            "John \\ Jane",
            "f[0] = g[1] + h[2]",
            "WARNING!",
            "[NO ANSWER] LEFT MESSAGE!",
            "fee $4.00",
            "user@mail.example",
        ],
    },
    Language {
        name: "German",
        pages: &["cp273", "cp1141", "cp037", "cp500"],
        texts: &[
            "Jürgen Müller, Goethestraße 12",
            "Käthe Schröder, Königsallee 7",
            "Jörg Weiß, Am Bäckerweg 3",
            "Günther Größe, Köln",
            "Süßwaren Krüger GmbH, München",
            "Rückzahlung für Möbel",
            "Übertrag Fußbodenbeläge",
            "Äpfel und Öl, Düsseldorf",
            "Grüße aus Nürnberg",
            "Bärbel Kühn, Lübeck",
            "Übergröße für Herrn Schütz",
            "Österreichische Länderbank",
            "Überlingen, Gänseweg 2",
            "Jäger & Söhne",
            "Kürbisöl 500 ml",
            "Straßenverkehrsamt Würzburg",
            "Böhm, Andreas",
            "Vögel, Märkte und Höfe",
        ],
    },
    Language {
        name: "French",
        pages: &["cp297", "cp1147", "cp500", "cp037"],
        texts: &[
            "François Lefèvre, 12 rue de la Gare",
            "Hélène Béranger, Orléans",
            "Société Générale à Besançon",
            "Noël Dubois, Nîmes",
            "Zoé Marchand, Saint-Étienne",
            "élève du collège, 3 allée des Érables",
            "André Lacoste, Angoulême",
            "reçu à Paris",
            "Cécile Forêt, Béziers",
            "Jérôme Château, Évry",
            "Évelyne Garçon, Périgueux",
            "Gaëlle Légaré, Québec",
            "Crédit Agricole, Périphérie",
            "château d'eau près du théâtre",
            "Benoît Désiré, Mâcon",
            "télévision à crédit",
            "Geneviève Tréguier",
            "frère et soeur à Sète",
        ],
    },
    Language {
        name: "Spanish",
        pages: &["cp284", "cp1145", "cp037", "cp500"],
        texts: &[
            "José Muñoz, Calle Peñón 4",
            "María Núñez, León",
            "Compañía de Seguros Cantábrica",
            "Begoña Ibáñez, A Coruña",
            "Año de la operación",
            "señor Martín Peña, Málaga",
            "niño menor, Cádiz",
            "Iñigo López, Logroño",
            "Mañana, número 5",
            "Ramón Gómez, Ávila",
            "Raúl Fernández, Almería",
            "Peñíscola, Castellón",
            "Sofía Ordóñez, Cáceres",
            "Avenida de la Constitución",
            "enseñanza pública",
            "El Niño, bañera",
            "Jesús Ibañez, Bogotá",
            "teléfono móvil",
        ],
    },
    Language {
        name: "Portuguese",
        pages: &["cp037", "cp500", "cp1140"],
        texts: &[
            "João da Conceição, São Paulo",
            "Ação de cobrança",
            "Antônio Guimarães, Brasília",
            "Inês Magalhães, Évora",
            "Rua Três Irmãos 8",
            "Município de Olhão",
            "transferência à ordem",
            "Sebastião Leitão",
            "Pão e café, Belém",
            "não há débito",
            "Luís Gonçalves, Maranhão",
            "Fundação Calouste",
            "Praça da República",
            "Vitória da Conquista, Paraná",
            "Simões & Irmão",
            "Avenida João XXIII, Guarujá",
            "Inscrição nº 4",
            "Pensão alimentícia",
        ],
    },
    Language {
        name: "Italian",
        pages: &["cp280", "cp1144", "cp037"],
        texts: &[
            "Nicolò Rossi, Via della Libertà 5",
            "Società Elettrica, Forlì",
            "qualità e quantità",
            "Città di Castello",
            "perché è così",
            "più di un anno",
            "Università di Milano",
            "Cantù, lunedì",
            "Mario Cefalù, Viale Unità 9",
            "pubblicità già pagata",
            "Loredana Città, Cefalù",
            "Comunità Montana",
            "però no, venerdì",
            "proprietà privata",
            "Niccolò Andrà, Mondovì",
            "attività svolta più volte",
            "Nardò, Libertà",
            "novità in età scolare",
        ],
    },
    Language {
        name: "Danish",
        pages: &["cp277", "cp1142"],
        texts: &[
            "Søren Kjær, Nørregade 12",
            "Århus Kommune",
            "Bodil Sørensen, Østerbrogade 4",
            "København Ø",
            "Jørgen Møller, Ærø",
            "Blåbærvej 3, Næstved",
            "smørrebrød på torvet",
            "Åge Lærke, Grønnegade 7",
            "Gå til kasse",
            "Pær Højgaard, Køge",
            "Rødovre Skole, Åboulevarden",
            "Pølse og øl",
            "Bærum, Tromsø",
            "Kræmmer Bjørn Østby",
            "Sønderborg, Vestergårdsvej",
            "Håndværker Åse Bræin",
            "Frederikshavn, Læsø",
            "Vågan, Ålesund",
        ],
    },
    Language {
        name: "Swedish",
        pages: &["cp278", "cp1143"],
        texts: &[
            "Åke Öberg, Storgatan 4",
            "Göran Sjöström, Malmö",
            "Västerås kommun",
            "Märta Lindström, Örebro",
            "kött och mjölk på torget",
            "Björn Åkesson, Kungsvägen 8",
            "Ängelholm, för år",
            "Håkan Nyström, Gävle",
            "Förskola, Södertälje",
            "Häkkinen Mäki, Jyväskylä",
            "Östersund, Linnégatan",
            "Räntor på lån",
            "Jönköping, Hällgatan",
            "Kåre Bäckström",
            "Hämeenlinna, Päijänne",
            "Fågelvägen, Trollhättan",
            "Sköldpadda, Ånge",
            "Näsström, Luleå",
        ],
    },
    Language {
        name: "Polish",
        pages: &["cp870"],
        texts: &[
            "Łukasz Wójcik, Łódź",
            "Małgorzata Dąbrowska, Kraków",
            "Świętokrzyska 12, Wrocław",
            "Żaneta Gęś, Gdańsk",
            "Paweł Woźniak, ul. Długa 5",
            "należność za miesiąc",
            "Bożena Zając, Częstochowa",
            "Ścibor Mączka",
            "spółka Źródło",
            "Poznań, Łączna",
            "Jędrzej Świątek, Zielona Góra",
            "Wąchock, Kielce",
            "Grażyna Żółtowska",
            "Zażółć gęślą jaźń",
            "Elbląg, ulica Słoneczna",
            "Bolesław Chrobry, Śrem",
            "Ćwiklińska, Ostrołęka",
            "księgowość, płatność",
        ],
    },
    Language {
        name: "Russian",
        pages: &["cp1025"],
        texts: &[
            "Москва, улица Ленина",
            "Иванов Пётр Сергеевич",
            "Новосибирск",
            "Екатеринбург, проспект Мира",
            "Ольга Кузнецова",
            "счёт за январь",
            "Дмитрий Соколов",
            "Нижний Новгород",
            "Общество Заря",
            "Юлия Щукина",
            "Санкт-Петербург",
            "Александр Жуков, Воронеж",
            "Татьяна Фёдорова",
            "Ростов, площадь Победы",
            "договор поставки",
            "Башкирия, Уфа",
            "Чехов Антон",
            "перевод средств",
        ],
    },
    Language {
        name: "Greek",
        pages: &["cp875"],
        texts: &[
            "Γεώργιος Παπαδόπουλος",
            "Αθήνα, Οδός Ερμού",
            "Μαρία Ιωάννου",
            "Θεσσαλονίκη",
            "Κώστας Βασιλείου",
            "Νίκος Δημητρίου",
            "Ηράκλειο Κρήτης",
            "λογαριασμός",
            "Πάτρα, Αχαΐα",
            "Εταιρεία Φως",
            "Δήμητρα Αλεξίου",
            "Βόλος, Λεωφόρος Δημοκρατίας",
            "Σπύρος Γεωργίου",
            "Καλαμάτα",
            "τιμολόγιο πώλησης",
            "Χριστίνα Ζαφειρίου",
            "Ξάνθη, Ρόδος",
            "Πειραιάς",
        ],
    },
    Language {
        name: "Turkish",
        pages: &["cp1026"],
        texts: &[
            "Gülşen Yıldız, İstanbul",
            "Mehmet Öztürk, Kadıköy",
            "Ayşe Çelik, Şişli",
            "Çağlayan Mahallesi 5",
            "Doğuş Holding, İzmir",
            "Beşiktaş, Muğla",
            "Işık Apartmanı",
            "Hüseyin Güneş, Eskişehir",
            "müşteri hesabı",
            "Ömer Yılmaz, Çanakkale",
            "Gökhan Şahin, Şanlıurfa",
            "Büyükçekmece, Ağrı",
            "Zeynep Gürbüz, Iğdır",
            "Değirmen Sokağı",
            "kayıt numarası",
            "Uğur Çınar, Niğde",
            "Özgür Ağaoğlu",
            "Yeşilköy, Bağcılar",
        ],
    },
];

/// How a file is written: how its texts are spelled, and how many of ten records have one.
const STYLES: &[(Case, u32, Amount)] = &[
    (Case::Mixed, 10, Amount::Digits),
    (Case::Mixed, 2, Amount::Digits),
    (Case::Upper, 10, Amount::Digits),
    (Case::Upper, 2, Amount::Digits),
    (Case::Mixed, 10, Amount::Packed),
    (Case::Upper, 10, Amount::Packed),
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Amount {
    Digits,
    Packed,
}

#[derive(Clone, Copy, Debug)]
enum Case {
    Mixed,
    Upper,
}

/// Generates 100 records of 80 bytes with the texts that `chosen` selects. Letters that the page lacks leave the text out.
fn records(
    language: &Language,
    page: &str,
    (case, of_ten, amount): (Case, u32, Amount),
    chosen: impl Fn(usize) -> bool,
) -> Vec<u8> {
    const FIRST: [&str; 7] = ["ADA", "PETER", "MARIA", "OMAR", "LISA", "ANNA", "TOM"];
    let charset = Charset::by_name(page).expect("a known page");
    let encoded = |text: &str| {
        let mut bytes = Vec::new();
        charset.encode_into(text, &mut bytes).ok().map(|()| bytes)
    };
    let upper = |text: &&str| match (case, language.name) {
        (Case::Mixed, _) => (*text).to_owned(),
        (Case::Upper, "Turkish") => text.replace('i', "İ").to_uppercase(),
        (Case::Upper, "Greek") => text.to_uppercase().chars().map(without_accent).collect(),
        (Case::Upper, _) => text.to_uppercase(),
    };
    let chosen = language.texts.iter().enumerate().filter(|(i, _)| chosen(*i)).map(|(_, text)| upper(text));
    let texts: Vec<Vec<u8>> = chosen.filter_map(|text| encoded(&text)).collect();
    let mut state = 88_172_645_463_325_252u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("a small number")
    };
    let mut file = Vec::new();
    for i in 0..100 {
        let mut record =
            encoded(&format!("{i:06} {:<10}{:08}  ", FIRST[next(FIRST.len())], next(99_999_999))).expect("plain");
        if (i as u32 * 3) % 10 < of_ten && !texts.is_empty() {
            record.extend_from_slice(&texts[next(texts.len())]);
        }
        record.resize(80, encoded(" ").expect("a blank")[0]);
        if amount == Amount::Packed {
            let digit = |n: usize| u8::try_from(n).expect("two digits");
            let [high, low] = [next(100), next(10)].map(digit);
            record.extend([0, 0, high / 10 * 16 + high % 10, low * 16 + digit(next(10)), low * 16 + 12]);
        }
        file.extend(record);
    }
    file
}

fn without_accent(char: char) -> char {
    match char {
        'Ά' => 'Α',
        'Έ' => 'Ε',
        'Ή' => 'Η',
        'Ί' | 'Ϊ' => 'Ι',
        'Ό' => 'Ο',
        'Ύ' => 'Υ',
        'Ώ' => 'Ω',
        char => char,
    }
}

fn proposals(file: &[u8]) -> Vec<CharsetProposal> {
    CharsetProposal::of(RecordSample { name: "sample", bytes: file, file_len: Some(file.len() as u64) }, 3)
}

/// Whether the proposal is the page, or says that the sample reads the same in it.
fn names(proposal: &CharsetProposal, page: &str) -> bool {
    let page = Charset::by_name(page).expect("a known page");
    proposal.charset == page || proposal.alike.contains(&page)
}

/// Counts of samples by the place of the right page among the proposals.
#[derive(Debug, Default)]
struct Tally {
    samples: u32,
    first: u32,
    listed: u32,
    /// A wrong page comes first, with a score of at least 95.
    wrong_and_sure: Vec<String>,
    missed: Vec<String>,
}

impl Tally {
    fn add(&mut self, what: String, file: &[u8], page: &str) {
        let found = proposals(file);
        self.samples += 1;
        let at = found.iter().position(|proposal| names(proposal, page));
        self.first += u32::from(at == Some(0));
        self.listed += u32::from(at.is_some());
        let first = found
            .first()
            .map_or("nothing".to_owned(), |first| format!("{} {}", first.charset.name(), first.score.unwrap_or(0)));
        if at != Some(0) {
            if found.first().is_some_and(|first| first.score >= Some(95)) {
                self.wrong_and_sure.push(format!("{what}: {first}"));
            }
            self.missed.push(format!("{what}: {first}, at {at:?}"));
        }
    }
}

fn tally(chosen: impl Fn(usize) -> bool + Copy) -> Tally {
    let mut tally = Tally::default();
    for language in LANGUAGES {
        for page in language.pages {
            for style in STYLES {
                let file = records(language, page, *style, chosen);
                tally.add(format!("{} in {page}, {style:?}", language.name), &file, page);
            }
        }
    }
    // One text in a file: the least evidence.
    for language in LANGUAGES {
        for page in language.pages {
            for at in (0..language.texts.len()).filter(|at| chosen(*at)) {
                let file = records(language, page, (Case::Mixed, 2, Amount::Digits), |i| i == at);
                tally.add(format!("{} in {page}, only {:?}", language.name, language.texts[at]), &file, page);
            }
        }
    }
    tally
}

#[test]
fn most_samples_get_their_page_first_and_no_wrong_page_is_sure() {
    let tally = tally(|_| true);
    assert!(tally.samples > 700, "{}", tally.samples);
    assert_eq!(tally.wrong_and_sure, [""; 0]);
    assert!(tally.first * 100 >= tally.samples * 94, "{} of {}: {:#?}", tally.first, tally.samples, tally.missed);
    assert!(tally.listed * 100 >= tally.samples * 99, "{} of {}: {:#?}", tally.listed, tally.samples, tally.missed);
}

/// Half of the texts is less evidence.
#[test]
fn fewer_texts_are_enough() {
    for half in [0, 1] {
        let tally = tally(|i| i % 2 == half);
        assert_eq!(tally.wrong_and_sure, [""; 0]);
        assert!(tally.first * 100 >= tally.samples * 93, "{} of {}: {:#?}", tally.first, tally.samples, tally.missed);
    }
}

/// Pages that extend ASCII, in which files of a language are written.
const OF_ASCII: &[(&str, &[&str])] = &[
    ("English", &["cp1252"]),
    ("German", &["cp1252", "latin1", "cp850", "cp437"]),
    ("French", &["cp1252", "latin1", "cp850", "cp437"]),
    ("Spanish", &["cp1252", "latin1", "cp850", "cp437"]),
    ("Portuguese", &["cp1252", "latin1", "cp850"]),
    ("Italian", &["cp1252", "latin1", "cp850", "cp437"]),
    ("Danish", &["cp1252", "latin1", "cp850"]),
    ("Swedish", &["cp1252", "latin1", "cp850", "cp437"]),
    ("Polish", &["cp1250", "latin2", "cp852"]),
    ("Russian", &["cp1251", "koi8-r", "cp866", "iso-8859-5"]),
    ("Greek", &["cp1253", "iso-8859-7"]),
    ("Turkish", &["cp1254", "latin5"]),
];

/// `inspect` proposed windows-1252 or ISO-8859-1 with up to 89 of 100 for files in every other page that extends ASCII.
#[test]
fn pages_that_extend_ascii_are_recognised_by_their_words() {
    let mut tally = Tally::default();
    for (name, pages) in OF_ASCII {
        let Some(language) = LANGUAGES.iter().find(|language| language.name == *name) else {
            panic!("no language {name}");
        };
        for page in *pages {
            let mut add = |what: String, file: Vec<u8>| {
                // A page that lacks a letter leaves the text out.
                if !file.is_ascii() {
                    tally.add(format!("{name} in {page}, {what}"), &file, page);
                }
            };
            for style in STYLES.iter().filter(|(_, _, amount)| *amount == Amount::Digits) {
                add(format!("{style:?}"), records(language, page, *style, |_| true));
            }
            for (at, text) in language.texts.iter().enumerate() {
                let file = records(language, page, (Case::Mixed, 2, Amount::Digits), |i| i == at);
                add(format!("only {text:?}"), file);
            }
        }
    }
    assert!(tally.samples > 500, "{}", tally.samples);
    assert_eq!(tally.wrong_and_sure, [""; 0]);
    assert!(tally.first * 100 >= tally.samples * 97, "{} of {}: {:#?}", tally.first, tally.samples, tally.missed);
    assert!(tally.listed * 100 >= tally.samples * 99, "{} of {}: {:#?}", tally.listed, tally.samples, tally.missed);
}

/// `inspect` said that IBM037 and IBM1047 read a sample the same that has brackets in IBM1047, since it did not count bytes beside
/// each other as text.
#[test]
fn pages_are_alike_only_if_they_read_each_byte_of_the_text_the_same() {
    for language in LANGUAGES {
        for page in language.pages {
            for style in STYLES.iter().filter(|(_, _, amount)| *amount == Amount::Digits) {
                let file = records(language, page, *style, |_| true);
                for proposal in proposals(&file) {
                    let text = |charset: Charset| file.iter().map(|byte| read(charset, *byte)).collect::<String>();
                    for alike in &proposal.alike {
                        assert_eq!(
                            text(proposal.charset),
                            text(*alike),
                            "{} in {page}: {}",
                            language.name,
                            alike.name()
                        );
                    }
                }
            }
        }
    }
}

fn read(charset: Charset, byte: u8) -> char {
    match charset {
        Charset::SingleByte(page) => page.to_char(byte).unwrap_or('\u{fffd}'),
        _ => char::from(byte),
    }
}
