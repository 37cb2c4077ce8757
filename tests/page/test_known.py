"""Learnings, skills, the graph, audit and quarantine in a browser, with the story of two weeks."""

import re

from playwright.sync_api import Page, expect

from tests.page.conftest import Picture


def open_first(page: Page, text: str) -> None:
    page.get_by_role("button", name=re.compile(text)).first.click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_visible()


def test_a_learning_shows_its_fix_and_how_confidence_moved(page: Page, picture: Picture) -> None:
    page.goto("/learnings")
    open_first(page, "fetch_tides")
    sheet = page.locator(".sheet")
    expect(sheet.get_by_role("img", name=re.compile("Confidence over time: .*0.67.*0.80"))).to_be_visible()
    expect(sheet.locator(".trial.bad")).to_have_count(1)
    picture(page, "learnings")
    before = sheet.locator(".trial").count()
    sheet.get_by_role("button", name="It helped").click()
    expect(sheet.locator(".trial")).to_have_count(before + 1)


def test_a_learning_gets_another_fix(page: Page) -> None:
    page.goto("/learnings")
    open_first(page, "pipeline_status")
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("What helps").fill("Ask Lena for the role, and write it into the runbook.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".sheet .main-text")).to_have_text("Ask Lena for the role, and write it into the runbook.")
    expect(page.locator(".sheet")).to_contain_text("user")


def test_a_skill_is_checked_approved_and_run(page: Page, picture: Picture) -> None:
    page.goto("/skills?kind=draft")
    open_first(page, "cold-store-check")
    sheet = page.locator(".sheet")
    expect(sheet).to_contain_text("waits for approval")
    expect(sheet).to_contain_text("the check found nothing against it")
    picture(page, "skills")
    sheet.get_by_role("button", name="Approve version 1").click()
    expect(sheet.get_by_role("button", name="Disable")).to_be_visible()
    page.goto("/skills")
    open_first(page, "handover-list")
    page.get_by_label("Arguments, as JSON").fill('{"project": "Orchard", "to": "Jonas", "items": ["the keys"]}')
    page.get_by_role("button", name="Run").click()
    expect(page.locator(".sheet")).to_contain_text("Handover of Orchard to Jonas:")
    page.get_by_label("Arguments, as JSON").fill("{")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_text(re.compile("INVALID_INPUT: The arguments are not JSON"))).to_be_visible()
    expect(page.get_by_label("Arguments, as JSON")).to_have_value("{")


def test_the_graph_is_walked_by_clicking(page: Page, picture: Picture) -> None:
    page.goto("/graph")
    page.get_by_role("button", name=re.compile("^Tidewater")).click()
    picture_of = page.get_by_role("group", name="Around Tidewater")
    expect(picture_of).to_be_visible()
    picture(page, "graph")
    picture_of.get_by_role("button", name="Jonas Okafor").click()
    expect(page.get_by_role("group", name="Around Jonas Okafor")).to_be_visible()
    expect(page).to_have_url(re.compile(r"name=Jonas\+Okafor"))
    page.get_by_label("Entity").fill("Nobody at all")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Nothing within your reach is related to this.")).to_be_visible()


def test_the_audit_log_is_filtered_and_read_on(page: Page, picture: Picture) -> None:
    page.goto("/audit")
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(50)
    last = rows.filter(has_text="demo_ended").first.bounding_box()
    assert last is not None
    assert last["height"] < 40, "short words are broken"
    picture(page, "audit")
    page.get_by_role("button", name="Older rows").click()
    expect(rows.nth(50)).to_be_visible()
    page.get_by_label("Action").fill("skill_approve")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("tbody tr", has_not_text="skill_approve")).to_have_count(0)
    expect(rows.first).to_be_visible()


def test_a_text_that_gives_orders_is_held_back_until_somebody_decides(page: Page, picture: Picture) -> None:
    page.goto("/quarantine")
    expect(page.get_by_text(re.compile("Ignore all previous instructions"))).to_be_visible()
    picture(page, "quarantine")
    page.get_by_role("button", name="Erase the copy").click()
    page.get_by_role("button", name="Keep it").click()
    page.get_by_role("button", name="Let it through").click()
    expect(page.get_by_text("Nothing is held back.")).to_be_visible()
    page.goto("/quarantine?state=released")
    expect(page.get_by_text(re.compile("Ignore all previous instructions"))).to_be_visible()
