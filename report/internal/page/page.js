'use strict';
// Shows one view at a time, moves a cursor over its columns, and lights up the causal
// past of a step. All texts go in as text, never as markup.
(() => {
  const views = new Map(JSON.parse(document.getElementById('data').textContent).map((v) => [v.id, v]));
  const $ = (id) => document.getElementById(id);
  const order = [...views.keys()];
  let view, section, picture, stage, column = 0, chosen = -1;

  const all = (selector) => section.querySelectorAll(selector);

  function element(tag, text, className) {
    const e = document.createElement(tag);
    if (text !== undefined) e.textContent = text;
    if (className) e.className = className;
    return e;
  }

  const count = (n, what) => n + ' ' + what + (n === 1 ? '' : 's');

  function show(id) {
    view = views.get(id);
    for (const s of document.querySelectorAll('section[data-view]')) s.hidden = s.dataset.view !== id;
    for (const b of document.querySelectorAll('.views button')) b.setAttribute('aria-pressed', String(b.dataset.view === id));
    section = $('view-' + id);
    picture = section.querySelector('.picture');
    stage = section.querySelector('.stage');
    const scroll = section.querySelector('.timeline .scroll'), found = scroll && scroll.querySelector('tr.finding');
    if (found) scroll.scrollTop = found.offsetTop - scroll.clientHeight / 2;
    if (view.text && $('finding-text')) $('finding-text').textContent = view.text;
    choose(-1);
    go(view.finding >= 0 ? view.finding : Math.max(0, view.columns - 1));
  }

  function go(to) {
    if (!view.columns) return;
    column = Math.min(Math.max(0, to), view.columns - 1);
    const g = picture.querySelector('.column[data-column="' + column + '"]');
    const x = Number(g.dataset.x), w = Number(g.dataset.w);
    const cursor = picture.querySelector('.cursor');
    cursor.setAttribute('x', x - 2);
    cursor.setAttribute('width', w + 4);
    const strip = section.querySelector('.strip');
    strip.querySelector('.cursor').setAttribute('x', column * Number(strip.dataset.unit));
    const labels = section.querySelector('.labels').getBoundingClientRect().width;
    const room = stage.clientWidth - labels;
    stage.scrollLeft = x + w / 2 - room / 2;
    const round = g.dataset.round;
    const head = g.querySelector('text').textContent || String(column);
    $('where').textContent = g.dataset.name || (round ? 'round ' + head : (head === 'start' ? 'start' : 'step ' + head));
    document.body.dataset.column = column;
    if (chosen < 0) describeColumn();
  }

  // past is the set of steps that some steps depend on, by messages and by the order of
  // steps on a node.
  function past(of) {
    const steps = view.steps, before = new Array(steps.length).fill(-1), last = new Map();
    steps.forEach((s, i) => {
      if (s.x > 0) {
        if (last.has(s.x)) before[i] = last.get(s.x);
        last.set(s.x, i);
      }
    });
    const seen = new Set(of), todo = [...of];
    while (todo.length) {
      const i = todo.pop();
      for (const j of [steps[i].cause, before[i]]) {
        if (j >= 0 && !seen.has(j)) {
          seen.add(j);
          todo.push(j);
        }
      }
    }
    return seen;
  }

  function light(of) {
    const seen = of.length ? past(of) : null;
    picture.classList.toggle('focus', of.length > 0);
    for (const e of all('.picture [data-steps]')) {
      const its = e.dataset.steps.split(' ').map(Number);
      e.classList.toggle('past', seen !== null && its.some((i) => seen.has(i)));
      e.classList.toggle('chosen', its.some((i) => of.includes(i)));
    }
    return seen;
  }

  function choose(step) {
    chosen = step;
    const seen = light(step < 0 ? [] : [step]);
    if (step < 0) {
      delete document.body.dataset.past;
      if (picture) describeColumn();
      return;
    }
    document.body.dataset.past = seen.size;
    describe(step, seen);
  }

  // explain goes to the finding and lights up what it is about, with its causal past.
  function explain() {
    if (view.finding < 0) return;
    go(view.finding);
    const of = view.about.length ? view.about : [view.steps.length - 1];
    chosen = of[of.length - 1];
    const seen = light(of);
    document.body.dataset.past = seen.size;
    describe(chosen, seen, of);
  }

  function describe(step, seen, of) {
    const body = $('detail-body'), s = view.steps[step];
    const own = element('div'), before = element('div');
    body.replaceChildren(own, before);
    own.append(element('h2', 'Step ' + s.n), element('p', s.what, 'what'));
    const list = element('ul', undefined, 'detail-lines');
    for (const line of s.lines) list.append(element('li', line));
    if (!s.lines.length) list.append(element('li', 'changed nothing'));
    own.append(list);
    if (!seen) return;
    const nodes = new Set([...seen].map((i) => view.steps[i].x).filter((x) => x > 0));
    if (of && of.length > 1) {
      own.append(element('h2', 'The finding is about'));
      for (const i of of.slice(0, 60)) own.append(stepButton(i));
    }
    before.append(element('h2', 'Causal past'));
    before.append(element('p', (seen.size - 1) + ' of ' + count(view.steps.length, 'step') + ', on ' + count(nodes.size, 'node'), 'past'));
    const steps = element('ol', undefined, 'past-list');
    const shown = [...seen].sort((a, b) => b - a).slice(1, 41);
    for (const i of shown) {
      const item = element('li');
      item.append(stepButton(i));
      steps.append(item);
    }
    before.append(steps);
    if (seen.size - 1 > shown.length) before.append(element('p', '… and ' + (seen.size - 1 - shown.length) + ' before them'));
  }

  function stepButton(i) {
    const b = element('button', view.steps[i].n + ': ' + view.steps[i].what, 'step');
    b.type = 'button';
    b.addEventListener('click', () => { choose(i); go(view.steps[i].c); });
    return b;
  }

  function describeColumn() {
    const body = element('div');
    $('detail-body').replaceChildren(body);
    const where = $('where').textContent;
    body.append(element('h2', /^(step|start)/.test(where) ? where : 'Steps of ' + where));
    let count = 0;
    view.steps.forEach((s, i) => {
      if (s.c === column && ++count <= 60) body.append(stepButton(i));
    });
    if (count > 60) body.append(element('p', '… and ' + (count - 60) + ' more'));
    if (!count) body.append(element('p', 'nothing happened'));
  }

  const stepOf = (event) => {
    const e = event.target.closest('[data-steps]');
    return e ? Number(e.dataset.step) : -1;
  };

  document.addEventListener('click', (event) => {
    const target = event.target;
    const button = target.closest('.views button');
    if (button) return show(button.dataset.view);
    if (target.closest('.strip')) {
      const box = section.querySelector('.strip').getBoundingClientRect();
      return go(Math.floor((event.clientX - box.left) / box.width * view.columns));
    }
    if (!target.closest('.picture')) return;
    const step = stepOf(event);
    choose(step === chosen ? -1 : step);
    const on = target.closest('[data-column]');
    if (step < 0 && on) go(Number(on.dataset.column));
  });
  document.addEventListener('mouseover', (event) => {
    if (chosen >= 0 || !event.target.closest('.picture')) return;
    const step = stepOf(event);
    if (step >= 0) describe(step, null);
  });

  const moves = {
    ArrowLeft: () => go(column - 1), ArrowRight: () => go(column + 1), h: () => go(column - 1), l: () => go(column + 1),
    Home: () => go(0), End: () => go(view.columns - 1), f: explain, Escape: () => choose(-1),
  };
  order.forEach((id, i) => { moves[String(i + 1)] = () => show(id); });
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select')) return;
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    move();
  });
  const buttons = { first: 'Home', prev: 'ArrowLeft', next: 'ArrowRight', last: 'End', finding: 'f' };
  for (const [id, key] of Object.entries(buttons)) $(id).addEventListener('click', moves[key]);
  // The filters of a timeline: a row is shown if its type and node are, and it has all words.
  function filter(timeline) {
    const words = timeline.querySelector('.rows').value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = (kind) => new Set([...timeline.querySelectorAll('input.' + kind)].filter((c) => c.checked).map((c) => c.value));
    const types = shown('type'), nodes = shown('node');
    const aside = timeline.querySelector('.aside').checked, only = timeline.querySelector('.only').checked;
    const some = words.length > 0 || only;
    let opened = false;
    for (const row of timeline.querySelectorAll('tbody tr')) {
      const of = row.classList, type = row.dataset.type;
      if (of.contains('sum')) {
        row.hidden = some || of.contains('aside') && !aside;
        const button = row.querySelector('.logs');
        opened = button !== null && button.getAttribute('aria-expanded') === 'true';
        continue;
      }
      let show = of.contains('finding');
      if (!show) {
        show = (types.has(type) || type === 'log' && (opened || words.length > 0)) &&
          (!row.dataset.node || nodes.has(row.dataset.node)) && (aside || !of.contains('aside')) &&
          (!only || of.contains('mentions'));
        if (show && words.length) {
          const text = row.textContent.toLowerCase();
          show = words.every((w) => text.includes(w));
        }
      }
      row.hidden = !show;
    }
  }
  document.addEventListener('input', (event) => {
    const timeline = event.target.closest('.timeline');
    if (timeline) filter(timeline);
  });
  document.addEventListener('click', (event) => {
    const button = event.target.closest('.timeline .logs');
    if (!button) return;
    button.setAttribute('aria-expanded', String(button.getAttribute('aria-expanded') !== 'true'));
    filter(button.closest('.timeline'));
  });
  // A link to a row shows its view, and the row whatever the filters are.
  function follow() {
    const row = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!row || !row.closest('.timeline')) return;
    const id = row.closest('section[data-view]').dataset.view;
    if (view.id !== id) show(id);
    row.closest('details').open = true;
    row.hidden = false;
    row.scrollIntoView({ block: 'center' });
  }
  window.addEventListener('hashchange', follow);
  const copy = $('copy');
  if (copy) copy.addEventListener('click', () => navigator.clipboard && navigator.clipboard.writeText($('replay').textContent));

  for (const t of document.querySelectorAll('.timeline')) filter(t);
  show(document.body.dataset.open);
  follow();
  document.body.dataset.ready = Math.round(performance.now());
})();
