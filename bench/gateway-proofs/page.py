"""The documentation page in a browser without a network, a call by its own button, and pictures of it under target/proofs."""

import json
import sys

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from world import OUT, Proof, Server, project

browser, driver = sys.argv[1:3]
proof = Proof("the documentation page, headless Chromium, loopback only")


def open_browser(dark=False, width=1200):
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},1400", "--hide-scrollbars", "--disable-background-networking"):
        options.add_argument(word)
    if dark:
        options.add_argument("--force-dark-mode")
        options.add_argument("--blink-settings=preferredColorScheme=0")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(driver))


def picture(page, name, whole=True):
    if whole:
        height = page.execute_script("return document.documentElement.scrollHeight")
        page.set_window_size(page.get_window_size()["width"], min(height + 200, 8000))
    path = OUT / f"{name}.png"
    page.save_screenshot(str(path))
    proof.note(f"picture: {path.relative_to(OUT.parent.parent)}")


def try_it(page, section):
    section.find_element(By.XPATH, ".//button[text()='Try it']").click()
    WebDriverWait(page, 10).until(lambda _: section.find_elements(By.CSS_SELECTOR, ".out .good, .out .bad"))
    return section.find_element(By.CSS_SELECTOR, ".out p").text, section.find_element(By.CSS_SELECTOR, ".out .answer").text


folder = project("page", "[serve]\n")
with Server(folder) as server:
    page = open_browser()
    try:
        page.get(f"http://{server.address}/car100/docs")
        proof.check(page.title == "Car inquiry", f"the page's title is {page.title!r}")
        section = page.find_element(By.ID, "findModels")
        proof.check("/car100/models" in section.text, "the operation stands there")
        picture(page, "docs")
        for name, value in (("maxCars", "2"), ("maxDealers", "1")):
            field = section.find_element(By.CSS_SELECTOR, f"input[aria-label={name}]")
            field.clear()
            field.send_keys(value)
        status, answer = try_it(page, section)
        cars = json.loads(answer)["CAR100CP"]["CARMODEL_CAR_FINDER"]["CARMODEL_CARS"]["CARMODEL_CAR_DATA"]
        proof.check(status.startswith("200") and len(cars) == 2, f"its button gets two cars: {status}")
        picture(page, "docs-answer")
        field = section.find_element(By.CSS_SELECTOR, "input[aria-label=maxCars]")
        field.clear()
        field.send_keys("101")
        status, answer = try_it(page, section)
        proof.check(status.startswith("400") and "maxCars" in answer, f"a wrong value shows the problem: {status}")
        field.clear()
        field.send_keys("1")
        Select(section.find_element(By.CSS_SELECTOR, "select")).select_by_visible_text("application/xml")
        status, answer = try_it(page, section)
        proof.check(status.startswith("200") and answer.lstrip().startswith("<"), f"XML: {status}")

        page.get(f"http://{server.address}/car100rename/docs")
        section = page.find_element(By.ID, "searchModels")
        status, answer = try_it(page, section)
        proof.check(status.split()[0] in ("200", "404", "422"), f"the example body of the search is taken: {status}")
        page.execute_script("for (const one of document.querySelectorAll('#searchModels details')) one.open = true")
        picture(page, "docs-search")

        hosts, errors = set(), [entry["message"] for entry in page.get_log("browser") if entry["level"] == "SEVERE" and "400" not in entry["message"] and "404" not in entry["message"]]
        for entry in page.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                hosts.add(message["params"]["request"]["url"].split("/")[2] if "://" in message["params"]["request"]["url"] else "")
        proof.check(hosts <= {server.address, ""}, f"hosts asked: {sorted(hosts)}")
        proof.check(not errors, f"errors in the console: {errors}")
    finally:
        page.quit()
    for name, dark, width in (("docs-dark", True, 1200), ("docs-narrow", False, 500)):
        page = open_browser(dark, width)
        try:
            page.get(f"http://{server.address}/car100/docs")
            wide = page.execute_script("return document.documentElement.scrollWidth > window.innerWidth")
            proof.check(not wide, f"{name}: nothing sticks out to the side")
            picture(page, name)
        finally:
            page.quit()
proof.end()
