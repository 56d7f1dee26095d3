//! The page of a run: its picture is valid XML and shows what the trace has.

use executor_core::TaskCtx;
use executor_core::ports::Access;
use roxmltree::{Document, Node};
use sim::{Course, Event, Failure, Object, Op, ReplayLine, RunOptions, Scenario, Simulation, write_html};

fn page(outcome: Result<&Course, &Failure>) -> (String, String) {
    let mut out = Vec::new();
    write_html(&mut out, outcome).expect("a vector takes it");
    let page = String::from_utf8(out).expect("it is text");
    let begin = page.find("<svg").expect("it has a picture");
    let end = page.find("</svg>").expect("the picture ends") + "</svg>".len();
    let svg = page[begin..end].to_owned();
    (page, svg)
}

fn of_class<'a>(document: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    let nodes = document.root().descendants();
    nodes
        .filter(|node| node.attribute("class") == Some(class))
        .collect()
}

fn title<'a>(node: &Node<'a, 'a>) -> &'a str {
    let title = node.children().find(|child| child.has_tag_name("title"));
    title.and_then(|title| title.text()).expect("it has a title")
}

fn count(events: &[Event], is: impl Fn(&Event) -> bool) -> usize {
    events.iter().filter(|event| is(event)).count()
}

fn assert_drawn(course: &Course, svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error} in\n{svg}"));
    let drawn = |class: &str| of_class(&document, class).len();
    let events = &course.events;
    assert_eq!(drawn("lane"), course.actors.len());
    assert_eq!(drawn("task"), count(events, |event| event.op == Op::Start));
    assert_eq!(drawn("park"), count(events, |event| event.op == Op::Park));
    assert_eq!(drawn("steal"), count(events, |event| event.op == Op::TakeFrom));
    assert_eq!(drawn("wake"), count(events, |event| event.op == Op::Unpark));
    assert_eq!(drawn("access"), count(events, |event| event.op == Op::Access));
    let faults = |event: &Event| matches!(event.op, Op::Retry | Op::Panic);
    assert_eq!(drawn("fault"), count(events, faults));
    let names: Vec<_> = of_class(&document, "lane")
        .iter()
        .filter_map(|lane| lane.children().find(|child| child.has_tag_name("text"))?.text())
        .collect();
    assert_eq!(names, course.actors);
}

#[test]
fn the_picture_has_what_the_trace_has() {
    for line in [
        "windlass-sim 1 scenario=mixed,roots=3,size=40,workers=4,spin=0,retries=20,panics=2,producers=2 random 3",
        "windlass-sim 1 scenario=jobs,jobs=4,stages=2,workers=3,producers=2,cancels=1 sticky 5",
        "windlass-sim 1 scenario=tree,size=6,workers=3,private=0 earliest 0",
    ] {
        let line: ReplayLine = line.parse().expect("it is a line");
        let options = RunOptions {
            keep_events: true,
            ..RunOptions::default()
        };
        let scenario = Scenario::from_line(&line).expect("it is a scenario");
        let run = scenario.run(line.strategy, line.seed, options);
        let course = run.unwrap_or_else(|failure| panic!("{failure}")).course;
        let (page, svg) = page(Ok(&course));
        assert_drawn(&course, &svg);
        assert!(course.events.iter().any(|event| event.op == Op::Unpark), "{line}");
        assert!(page.contains(&course.line.to_string()), "{line}");
        let document = Document::parse(&svg).expect("as above");
        let has_board = course.line.to_string().contains("scenario=jobs");
        assert_eq!(
            of_class(&document, "depth").len(),
            1 + usize::from(has_board),
            "{line}"
        );
        assert!(of_class(&document, "failure").is_empty());
    }
}

#[test]
fn arrows_lead_from_the_victim_and_from_the_waker() {
    let line: ReplayLine = "windlass-sim 1 scenario=fan,size=30,workers=3,private=0 sticky 2"
        .parse()
        .expect("it is a line");
    let options = RunOptions {
        keep_events: true,
        ..RunOptions::default()
    };
    let scenario = Scenario::from_line(&line).expect("it is a scenario");
    let course = scenario
        .run(line.strategy, line.seed, options)
        .expect("it goes well")
        .course;
    let (_, svg) = page(Ok(&course));
    let document = Document::parse(&svg).expect("it is XML");
    let steals: Vec<_> = course
        .events
        .iter()
        .filter(|event| event.op == Op::TakeFrom)
        .collect();
    assert!(!steals.is_empty());
    for (node, event) in of_class(&document, "steal").iter().zip(steals) {
        let Object::Worker(victim) = event.object else {
            panic!("a steal is from a worker, not from {}", event.object);
        };
        let expected = format!(
            "steal task {} from worker {victim}, by worker {}, ",
            event.value, event.actor
        );
        assert!(title(node).starts_with(&expected), "{}", title(node));
        let path = node.attribute("d").expect("a path");
        let heights = |text: &str| -> f64 {
            let last = text.split([' ', 'C']).rfind(|part| !part.is_empty());
            last.and_then(|part| part.parse().ok()).expect("a number")
        };
        let (begin, _) = path.split_once('C').expect("a curve");
        let goes_down = heights(path) > heights(begin);
        assert_eq!(goes_down, event.actor > victim, "{path}");
    }
}

#[test]
fn a_failure_is_marked_and_all_names_are_escaped() {
    const LABEL: &str = "read <total> & \"more\"";
    let failure = Simulation::new(3)
        .workers(2)
        .keep_events(true)
        .run(
            [0_u32],
            |_| (),
            |_, cx| {
                cx.access(LABEL, || ());
                let _never = cx.wait_until("x < 1 && y > 2", || false);
            },
        )
        .expect_err("it waits for ever");
    let (page, svg) = page(Err(&failure));
    assert_drawn(&failure.course, &svg);
    let document = Document::parse(&svg).expect("it is XML");
    let point = of_class(&document, "failure");
    assert_eq!(point.len(), 1);
    assert_eq!(title(&point[0]), failure.sentence());
    assert!(title(&of_class(&document, "access")[0]).starts_with(LABEL));
    assert_eq!(of_class(&document, "await").len(), 1);
    assert!(!page.contains("<total>") && page.contains("read &lt;total&gt; &amp; &quot;more&quot;"));
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let report = Simulation::new(1)
        .workers(2)
        .keep_events(true)
        .run([1_u32], |_| (), |_, _| {});
    let (page, _) = page(Ok(&report.expect("it goes well").course));
    let page = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    for foreign in ["<script", "http:", "https:", "@import", "<link", "src="] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}
