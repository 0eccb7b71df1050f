
// In a notebook, a part of a page gets the height that it needs; without access to the frame, it scrolls within it.
const HIGHEST = 6000;
if (frameElement && frameElement.dataset.fits) {
  new ResizeObserver(() => {
    frameElement.style.height = `${Math.min(document.body.offsetHeight + 2, HIGHEST)}px`;
  }).observe(document.body);
}
