"use strict";
for (const plot of document.querySelectorAll(".plot")) {
  const marks = Array.from(plot.querySelectorAll("[data-v]"));
  const value = plot.parentNode.querySelector(".value");
  let at = -1;
  const show = (next) => {
    if (!marks.length) return;
    if (at >= 0) marks[at].classList.remove("at");
    at = (next + marks.length) % marks.length;
    marks[at].classList.add("at");
    value.textContent = marks[at].dataset.v;
  };
  plot.addEventListener("pointermove", (event) => {
    let best = -1, least = 900;
    marks.forEach((mark, index) => {
      const box = mark.getBoundingClientRect();
      const x = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
      const y = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
      if (x * x + y * y < least) { least = x * x + y * y; best = index; }
    });
    if (best >= 0) show(best);
  });
  plot.addEventListener("keydown", (event) => {
    const moves = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
    if (event.key in moves) { show(at + moves[event.key]); event.preventDefault(); }
    if (event.key === "Home") { show(0); event.preventDefault(); }
    if (event.key === "End") { show(-1); event.preventDefault(); }
  });
}
