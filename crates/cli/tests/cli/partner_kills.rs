//! Partner commands that are killed at random: nothing is lost, nothing is done twice, no control number is repeated or skipped.
//!
//! `QUAYLINE_KILLS` sets the number of kills; the default is small.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use quayline_measure::Claims;
use quayline_measure::partner_study::world::Project;

use crate::partner::examples;
use crate::world::World;

const KILLS: u32 = 8;
/// Orders of one round.
const ORDERS: usize = 20;

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Returns orders of Alder, each of which gets a reply.
fn orders() -> String {
    let mut text = "ISA*00*          *00*          *ZZ*ALDER          *ZZ*QUAYSIDE       *260401*1200*^*00501*000000001*0*P*:~GS*PO*ALDER*QUAYSIDE*20260401*1200*1*X*005010~".to_owned();
    for order in 1..=ORDERS {
        text.push_str(&format!(
            "ST*850*{order:04}~BEG*00*SA*PO{order}**20260401~CUR*BY*USD~N1*BY*ALDER*92*10042~PO1*1*1*EA*1**VP*X~CTT*1~SE*7*{order:04}~"
        ));
    }
    text + &format!("GE*{ORDERS}*1~IEA*1*000000001~")
}

/// Runs a command and kills it at random until it completes. Returns the number of kills.
fn until_it_ends(world: &World, arguments: &str, dice: &mut Dice, kills_max: u32) -> u32 {
    let mut kills = 0;
    loop {
        let words = arguments.split_whitespace();
        let mut child = world.command(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
        if kills < kills_max {
            // Each attempt may live longer, so that the command makes progress on a machine of any speed.
            std::thread::sleep(Duration::from_millis(dice.below(60 + 40 * u64::from(kills))));
            if child.try_wait().expect("a child").is_none() {
                child.kill().expect("killed");
                child.wait().expect("ended");
                kills += 1;
                continue;
            }
        }
        child.wait().expect("ended");
        return kills;
    }
}

/// Returns the content of files as text. Records are EBCDIC, so only their number matters.
fn texts(world: &World, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(world.path(folder)).expect("a folder").map(|entry| entry.expect("an entry").path());
    let whole = entries.filter(|path| !path.file_name().expect("a name").to_string_lossy().starts_with('.'));
    whole.map(|path| String::from_utf8(fs::read(path).expect("a file")).unwrap_or_default()).collect()
}

/// Returns the parts of texts after `start` up to the next `end`.
fn after<'t>(texts: &'t [String], start: &str, end: char) -> Vec<&'t str> {
    let parts = texts.iter().flat_map(|text| text.split(start).skip(1));
    parts.map(|rest| rest.split(end).next().unwrap_or_default()).collect()
}

#[test]
fn random_kills_lose_nothing_and_repeat_nothing() {
    let wanted = std::env::var("QUAYLINE_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(KILLS);
    let mut dice = Dice(0x5eed);
    let mut kills = 0;
    let mut rounds = 0;
    while kills < wanted || rounds == 0 {
        rounds += 1;
        let world = examples();
        world.write("orders.x12", orders());
        let by_number =
            [("*ZZ*ALDER          *", "*ZZ*5412345000013  *"), ("*ZZ*QUAYSIDE       *", "*ZZ*4012345500004  *")];
        world.write("onward.x12", by_number.iter().fold(orders(), |text, (from, to)| text.replace(from, to)));
        let left = |kills: u32| wanted.saturating_sub(kills).min(10);
        for command in [
            "partner receive --project exchange --commit-interval 3 orders.x12",
            "partner send --project exchange --document invoice-x12 maps/data/invoices.dat",
            "envelope release --project exchange --all",
            "partner send --project exchange --document order-onward --to BIRCH onward.x12",
        ] {
            kills += until_it_ends(&world, command, &mut dice, left(kills));
        }
        assert_eq!(texts(&world, "exchange/records").len(), ORDERS);
        let json = texts(&world, "exchange/orders");
        assert_eq!(json.len(), ORDERS);
        assert_eq!(json.iter().collect::<BTreeSet<_>>().len(), ORDERS, "each order once");
        let alder = texts(&world, "exchange/outbox/alder");
        let answered = after(&alder, "~BAK*00*AC*", '*');
        assert_eq!(answered.len(), ORDERS, "each order is answered once");
        assert_eq!(answered.iter().collect::<BTreeSet<_>>().len(), ORDERS);
        let birch = texts(&world, "exchange/outbox/birch");
        let invoices = after(&alder, "~BIG*", '~').len() + after(&birch, "~BIG*", '~').len();
        assert_eq!(invoices, 3, "each invoice leaves once");
        // The orders that go on to a supplier leave at once, each in a message.
        let onward: Vec<String> = birch.iter().filter(|text| text.contains("ORDERS:D:96A:UN")).cloned().collect();
        let sent = after(&onward, "'BGM+220+", '+');
        assert_eq!(sent.len(), ORDERS, "each order leaves once");
        assert_eq!(sent.iter().collect::<BTreeSet<_>>().len(), ORDERS);
        let numbers: BTreeSet<u32> =
            after(&onward, "'UNZ+1+", '\'').iter().map(|one| one.parse().expect("a number")).collect();
        assert_eq!((onward.len(), numbers), (ORDERS, (1..=20).collect()), "no control number is repeated or skipped");
        // 20 answers, the acknowledgment, and one envelope of invoices.
        let numbers: BTreeSet<u32> =
            after(&alder, "~IEA*1*", '~').iter().map(|one| one.parse().expect("a number")).collect();
        assert_eq!(numbers, (1..=22).collect(), "no control number is repeated or skipped");
        assert_eq!(alder.len(), 22);

        // The partner's reply to all of it, with kills as well: every document is accepted once.
        let mut answer = "ISA*00*          *00*          *ZZ*ALDER          *ZZ*QUAYSIDE       *260402*1200*^*00501*000000002*0*P*:~GS*FA*ALDER*QUAYSIDE*20260402*1200*2*X*005010~".to_owned();
        let groups: Vec<(&str, &str, &str)> = alder
            .iter()
            .filter_map(|text| {
                let group = text.split("~GS*").nth(1)?.split('~').next()?;
                let fields: Vec<&str> = group.split('*').collect();
                let count = text.split("~GE*").nth(1)?.split('*').next()?;
                (fields.first() != Some(&"FA")).then(|| Some((*fields.first()?, *fields.get(5)?, count))).flatten()
            })
            .collect();
        for (at, (functional, group, count)) in (1..).zip(&groups) {
            let counts = format!("{count}*{count}*{count}");
            answer.push_str(&format!("ST*997*{at:04}~AK1*{functional}*{group}~AK9*A*{counts}~SE*4*{at:04}~"));
        }
        answer.push_str(&format!("GE*{}*2~IEA*1*000000002~", groups.len()));
        world.write("answer.x12", answer);
        kills += until_it_ends(
            &world,
            "partner receive --project exchange --commit-interval 2 answer.x12",
            &mut dice,
            left(kills),
        );
        let accepted = world.run("transaction list --project exchange --sent --state accepted -n 1000");
        assert_eq!(accepted.out().lines().count(), ORDERS + 2, "{}", accepted.out());
        world.run("store check --store exchange/data").code(0);
    }
    eprintln!("{kills} kills in {rounds} rounds");
}

/// A large interchange commits as it goes, and a run after each kill continues in the middle. `QUAYLINE_CLAIMS` sets the number of claims; the default is
/// small, and 60,000 is that of the study of 2005.
#[test]
fn a_killed_interchange_of_many_claims_continues_in_the_middle() {
    const TRANSACTIONS: u64 = 12;
    let claims = std::env::var("QUAYLINE_CLAIMS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_200_u64);
    let world = World::new();
    let project = Project::new(&world.path("payer")).expect("a project");
    project.sender("acknowledge = [\"999\"]\nguides = [\"837p.guide\"]").expect("a partner");
    let partner = String::from_utf8(world.read("payer/partners/sender.toml")).expect("text");
    let partner = partner.replace("queue:IN", "folder:claims-out").replace("queue:OUT", "folder:out");
    world.write("payer/partners/sender.toml", partner.replace("[settings]\n", "[settings]\nusage = \"both\"\n"));
    let mut input = std::fs::File::create(world.path("claims.x12")).expect("a file");
    Claims { claims, per_transaction: claims.div_ceil(TRANSACTIONS) }.write_to(&mut input).expect("written");
    let receive = "partner receive --project payer --commit-interval 1 claims.x12";
    let done = || fs::read_dir(world.path("payer/claims-out")).map_or(0, |files| files.count());
    let mut kills = 0;
    for wanted in [1, 3, 5, 7] {
        let mut child = world
            .command(receive.split_whitespace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // Each kill comes after more transactions.
        while done() < wanted && child.try_wait().expect("a child").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        kills += u32::from(child.try_wait().expect("a child").is_none());
        let _ = child.kill();
        child.wait().expect("ended");
    }
    assert!(kills >= 2, "{kills} kills: the runs were too fast");
    let last = world.run(receive);
    let err = last.code(0).err();
    assert!(err.contains("(continued)") && err.contains("1 acknowledgment sent"), "{err}");
    let documents = texts(&world, "payer/claims-out");
    assert_eq!(documents.len(), usize::try_from(TRANSACTIONS).expect("few"));
    let listed = world.run("transaction list --project payer -n 1000 --received --state delivered");
    assert_eq!(listed.out().lines().count() as u64, TRANSACTIONS);
    world.run("store check --store payer/data").code(0);
    // The map takes the claims of subscribers themselves; a run without kills says which.
    fs::remove_dir_all(world.path("payer/data")).expect("removed");
    fs::rename(world.path("payer/claims-out"), world.path("payer/killed")).expect("renamed");
    let answers = texts(&world, "payer/out");
    world.run(receive).code(0);
    let sorted = |mut texts: Vec<String>| {
        texts.sort();
        texts
    };
    let unharmed = texts(&world, "payer/claims-out");
    let numbers: BTreeSet<&str> = after(&unharmed, "\"number\":\"PCN", '"').into_iter().collect();
    assert!(numbers.len() as u64 > claims / 2, "{} claims", numbers.len());
    assert!(sorted(documents) == sorted(unharmed), "after {kills} kills, other documents");
    assert_eq!(answers.len(), 1, "one acknowledgment");
    assert!(answers[0].contains(&format!("~AK9*A*{TRANSACTIONS}*{TRANSACTIONS}*{TRANSACTIONS}~")), "{}", answers[0]);
    eprintln!("{claims} claims, {kills} kills");
}

/// A change of many partners in the store is one unit of work: after a kill, all are old or all are new.
#[test]
fn a_killed_change_of_partners_in_the_store_is_whole_or_nothing() {
    const PARTNERS: usize = 150;
    let world = examples();
    let partners = |round: usize| {
        let one = |at: usize| {
            format!(
                r#"{{"name": "P{at}", "description": "{round}", "identity": [{{"standard": "x12", "qualifier": "ZZ", "id": "P{at}"}}]}}"#
            )
        };
        format!("{{\"partners\": [{}]}}", (0..PARTNERS).map(one).collect::<Vec<_>>().join(","))
    };
    world.write("all.json", partners(0));
    let import = "partner import --project partners --in-store all.json";
    world.run(import).code(0);
    // The command may live as long as one that ends.
    let begin = std::time::Instant::now();
    world.run(import).code(0);
    let whole_ms = u64::try_from(begin.elapsed().as_millis()).expect("short");
    let mut dice = Dice(0xc0de);
    let (mut kills, mut done) = (0, 0);
    for round in 1..=2 * KILLS as usize {
        world.write("all.json", partners(round));
        let mut child = world.command(import.split_whitespace()).stderr(Stdio::null()).spawn().expect("it starts");
        std::thread::sleep(Duration::from_millis(dice.below(whole_ms + whole_ms / 4)));
        kills += u32::from(child.try_wait().expect("a child").is_none());
        let _ = child.kill();
        child.wait().expect("ended");
        let exported = world.run("partner export --project partners --in-store").out();
        let rounds: BTreeSet<&str> =
            after(std::slice::from_ref(&exported), "\"description\": \"", '"').into_iter().collect();
        assert_eq!(exported.matches("\"id\"").count(), PARTNERS);
        assert_eq!(rounds.len(), 1, "all partners are of one round: {rounds:?}");
        done += usize::from(rounds.contains(round.to_string().as_str()));
        // The record of changes agrees with the texts.
        let last = world.run(&format!("partner changes --project partners -n {PARTNERS}")).out();
        let lines: BTreeSet<&str> =
            last.lines().filter_map(|line| line.split("\"time\":\"").nth(1)?.get(..19)).collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
    }
    eprintln!("{kills} kills, {done} changes");
    world.run("store check --store partners/data").code(0);
}

/// Small files share units of work; the next run completes the work that a kill interrupted.
#[test]
fn a_watched_folder_that_is_killed_takes_every_file_once() {
    const FILES: u32 = 150;
    let world = examples();
    for file in 1..=FILES {
        world.write(
            &format!("partners/inbox/{file:03}.x12"),
            format!(
                "ISA*00*          *00*          *ZZ*ALDER          *ZZ*QUAYSIDE       *260401*1200*^*00501*{file:09}*0*P*:~GS*PO*ALDER*QUAYSIDE*20260401*1200*{file}*X*005010~\
                 ST*850*0001~BEG*00*SA*PO{file}**20260401~CUR*BY*USD~N1*BY*ALDER*92*10042~PO1*1*1*EA*1**VP*X~CTT*1~SE*7*0001~\
                 GE*1*{file}~IEA*1*{file:09}~"
            ),
        );
    }
    let run = "partner run --project partners --inbox inbox --settle 0 --once";
    let kills = until_it_ends(&world, run, &mut Dice(0xf01d), 6);
    // Files claimed at the last kill are processed first.
    world.run(run).code(0);
    let orders = texts(&world, "partners/orders");
    assert_eq!(orders.len(), FILES as usize, "after {kills} kills");
    assert_eq!(orders.iter().collect::<BTreeSet<_>>().len(), FILES as usize, "each order once");
    let answers = texts(&world, "partners/outbox/alder");
    let numbers: BTreeSet<u32> =
        after(&answers, "~IEA*1*", '~').iter().map(|one| one.parse().expect("a number")).collect();
    assert_eq!((answers.len(), numbers), (FILES as usize, (1..=FILES).collect()), "each interchange is answered once");
    assert_eq!(texts(&world, "partners/archive").len(), FILES as usize);
    assert_eq!(texts(&world, "partners/inbox/.claimed").len(), 0);
    world.run("store check --store partners/data").code(0);
}
