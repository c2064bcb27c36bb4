for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name];

for (const name of ["alert", "confirm", "prompt", "print"]) globalThis[name] = () => {};
globalThis.open = address => { if (navigator.userActivation.isActive) location = address; return null; };
addEventListener("click", event => {
  const link = event.target.closest?.("a[target]");
  if (link) link.target = "_self";
}, true);
