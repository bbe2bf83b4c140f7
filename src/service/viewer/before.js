// Runs before model-viewer and tells it where its decoders are: beside this file, never elsewhere.
const beside = new URL('.', document.currentScript.src).href;
self.ModelViewerElement = {
  dracoDecoderLocation: beside,
  ktx2TranscoderLocation: beside,
  meshoptDecoderLocation: new URL('ready.js', beside).href,
};
