"""The playground in a browser: the prompt, why it is so, and what a change changes."""

import re
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.page.conftest import Picture
from tests.page.served import Served

ASKED = {
    "query": "Can we deploy the tide import on Friday?",
    "user_id": "mara",
    "project_id": "tidewater",
    "session": "slack:tidewater:mara",
}


def test_the_prompt_stands_there_section_by_section(page: Page, picture: Picture) -> None:
    page.goto(f"/playground?{urlencode(ASKED)}")
    sections = page.locator(".prompt-section")
    expect(sections.first).to_contain_text("You are a helpful assistant.")
    names = sections.locator("summary span:first-child").all_inner_texts()
    assert {"Base prompt", "User Knowledge", "Known Solutions", "Semantic Context (RAG)"} <= set(names)
    told = [int(one.split()[0].replace(",", "")) for one in sections.locator("summary .note").all_inner_texts()]
    prompt = page.locator(".figure", has_text="Prompt").locator(".figure-value").inner_text()
    assert sum(told) == int(prompt.replace(",", ""))
    expect(page.locator(".token-bar > div")).to_have_count(len(told))
    expect(page.locator(".placed .score-part").first).to_be_visible()
    picture(page, "playground")


def test_a_layer_and_a_budget_that_are_switched_show_what_they_change(page: Page, picture: Picture) -> None:
    page.goto(f"/playground?{urlencode(ASKED)}")
    expect(page.locator(".prompt-section", has_text="Known Solutions")).to_be_visible()
    page.get_by_role("checkbox", name="Agent Learnings").click()
    page.get_by_label("Token budget").fill("200")
    page.get_by_role("button", name="Assemble").click()
    compared = page.locator(".compared")
    expect(compared).to_contain_text("Agent Learnings off; budget default → 200")
    expect(compared.locator("tr", has_text="Known Solutions").locator("td").nth(2)).to_have_text("0")
    expect(compared.locator("tr", has_text="layer off").first).to_be_visible()
    expect(page.locator(".card", has_text="Found and left out")).to_contain_text("other sections needed the room")
    picture(page, "playground-compared")
    page.get_by_role("button", name="Assemble").click()
    expect(compared).to_contain_text("The same was asked: the prompt is as long as before.")


def test_what_is_stored_is_text_whatever_it_says(page: Page, served: Served) -> None:
    hostile = "<script>document.title='owned'</script><img src=x onerror='document.title=1'> {{ 7 * 7 }} kumquat"
    scope = {"layer": "user", "identifiers": {"user_id": "<b>eve</b>"}}
    served.post("/v1/memories", {"content": f"{hostile} \u202eevil", **scope})
    page.goto(f"/playground?{urlencode({'query': 'kumquat', 'user_id': '<b>eve</b>'})}")
    shown = page.locator(".placed .stored", has_text="kumquat")
    expect(shown).to_contain_text(f"{hostile} ⟨U+202E⟩evil")
    assert page.title() == "Playground · Lamina"
    expect(page.locator("main img, main script, main b")).to_have_count(0)


def test_what_was_said_lately_is_an_example(page: Page) -> None:
    page.goto("/playground")
    example = page.locator(".example", has_text="slack:orchard:jonas")
    said = example.locator("span").first.inner_text()
    example.click()
    expect(page.locator(".prompt-section").first).to_be_visible()
    expect(page.get_by_label("What the user says")).to_have_value(re.compile(re.escape(said[:20])))
    expect(page.get_by_label("User", exact=True)).to_have_value("jonas")


def test_a_session_that_is_unknown_has_nothing_to_add(page: Page) -> None:
    page.goto(f"/playground?{urlencode({'query': 'zebra', 'session': 'web:nobody'})}")
    expect(page.locator(".card", has_text="Found and left out")).to_contain_text("Nothing that was found was left out")
    expect(page.get_by_label("Session")).to_have_value("web:nobody")
