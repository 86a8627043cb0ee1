// Without this script the page is one long page with links; with it, the links are tabs
// and pictures can be enlarged.
"use strict";
(() => {
  const bar = document.querySelector(".tabs div");
  const tabs = [...bar.querySelectorAll("a")];
  const panels = tabs.map((tab) => document.getElementById(tab.hash.slice(1)));

  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", "Parts of the report");
  tabs.forEach((tab, k) => {
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", panels[k].id);
    panels[k].setAttribute("role", "tabpanel");
    panels[k].setAttribute("aria-labelledby", tab.id);
    panels[k].tabIndex = 0;
  });

  function show(index) {
    tabs.forEach((tab, k) => {
      tab.setAttribute("aria-selected", String(k === index));
      tab.tabIndex = k === index ? 0 : -1;
      panels[k].hidden = k !== index;
    });
    const tab = tabs[index];
    bar.scrollTo({ left: tab.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2 });
  }

  function choose(index, focus) {
    show(index);
    history.replaceState(null, "", tabs[index].hash);
    if (focus) tabs[index].focus();
  }

  tabs.forEach((tab, k) => {
    tab.addEventListener("click", (event) => {
      event.preventDefault();
      choose(k, false);
      if (window.scrollY > bar.parentElement.offsetTop) {
        window.scrollTo({ top: bar.parentElement.offsetTop });
      }
    });
    tab.addEventListener("keydown", (event) => {
      const last = tabs.length - 1;
      const to = {
        ArrowRight: k === last ? 0 : k + 1,
        ArrowLeft: k === 0 ? last : k - 1,
        Home: 0,
        End: last,
        " ": k,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(to, true);
    });
  });

  function fromHash() {
    const index = tabs.findIndex((tab) => tab.hash === location.hash);
    show(Math.max(index, 0));
  }
  window.addEventListener("hashchange", fromHash);
  fromHash();

  const dialog = document.querySelector("dialog");
  const sheet = dialog.querySelector(".sheet");
  const title = dialog.querySelector("h2");
  let enlarged = null;

  function size() {
    if (!enlarged) return;
    // As large as the window allows; on a narrow one larger still, to be moved about.
    const ratio = enlarged.naturalWidth / enlarged.naturalHeight || 1;
    const fitting = Math.min(sheet.clientWidth - 32, (sheet.clientHeight - 32) * ratio);
    enlarged.style.width = Math.max(fitting, 620) + "px";
  }

  document.querySelectorAll(".picture button").forEach((button) => {
    button.addEventListener("click", () => {
      const image = button.querySelector("img");
      enlarged = image.cloneNode();
      title.textContent = button.dataset.title;
      sheet.replaceChildren(enlarged);
      dialog.showModal();
      size();
    });
  });
  window.addEventListener("resize", size);
  dialog.querySelector("button").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    enlarged = null;
    sheet.replaceChildren();
  });
})();
