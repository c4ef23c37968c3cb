//! Properties of random trees of checks, and what of them passed before the work began.

use proptest::prelude::*;

use super::tests::{Fake, parse_tree};
use super::*;
use crate::config::settings::{CheckOrder, Mode};
use watchdog_facts::evidence::{CheckOutcome, OutcomeBeforeWork};
use watchdog_facts::verdict::Evidence;

/// Random trees in the letters of [`parse_tree`], none of whose groups is empty.
fn trees() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec!["p", "c", "v", "x", "w", "u", "f", "t"]).prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 4, |inner| {
        let brackets = prop::sample::select(vec![("[", "]"), ("(", ")"), ("<", ">")]);
        (brackets, prop::collection::vec(inner, 1..4)).prop_map(|((open, close), members)| format!("{open}{}{close}", members.concat()))
    })
}

/// Whether a tree is met, by the words of the contract alone.
fn met(tree: &CheckTree) -> bool {
    match tree {
        CheckTree::Single { name, .. } => ["p", "c", "v"].contains(&name.as_str()),
        CheckTree::Group { mode: Mode::All, members } => members.iter().all(met),
        CheckTree::Group { members, .. } => members.iter().any(met),
    }
}

proptest! {
    #[test]
    fn a_tree_passes_when_the_contract_says_so_in_any_order(text in trees()) {
        let fake = Fake::default();
        let tree = parse_tree(&mut text.chars()).unwrap();
        for order in [CheckOrder::CheapFirst, CheckOrder::Given] {
            let found = tree.evaluate(order, &CheckContext::new(&fake));
            prop_assert_eq!(found.outcome == CheckOutcome::Pass, met(&tree), "{}", text);
            prop_assert_eq!(found.feedback.is_empty(), met(&tree));
            prop_assert!(found.evidence == Evidence::None || met(&tree));
            prop_assert!(!found.results.is_empty());
            // Neither flag changes the result.
            for context in [CheckContext::new(&fake).asking_every(true), CheckContext::new(&fake).side_by_side(3)] {
                let other = tree.evaluate(order, &context);
                prop_assert_eq!((other.outcome, other.evidence), (found.outcome, found.evidence));
            }
        }
    }
}

#[test]
fn what_passed_before_the_work_began_is_told_apart() {
    let judged = |tree: &str, before| {
        let fake = Fake { at_begin: ResultBeforeWork { before, tests: None }, ..Fake::default() };
        parse_tree(&mut tree.chars()).unwrap().evaluate(CheckOrder::CheapFirst, &CheckContext::new(&fake))
    };
    for tree in ["[p]", "[pp]", "(xp)", "<p->", "[p(xp)]"] {
        let by_before = [OutcomeBeforeWork::Passed, OutcomeBeforeWork::Failed, OutcomeBeforeWork::Unknown]
            .map(|before| judged(tree, before).all_passed_before);
        assert_eq!(by_before, [true, false, false], "{tree}");
    }
    assert!(["[x]", "[px]", "[u]", "[]", "()"].iter().all(|tree| !judged(tree, OutcomeBeforeWork::Passed).all_passed_before));
}
