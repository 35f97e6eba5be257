"use strict";
// The server sends the part of the page that changes, made as for those without JavaScript.
const live = document.getElementById("live");
const events = new EventSource("./events");
events.onmessage = (event) => {
  if (!document.getSelection().isCollapsed) return; // somebody is reading
  live.innerHTML = JSON.parse(event.data);
};
