"""Word error rates of what bench-echo wrote with --wav, by Whisper.

Needs: pip install faster-whisper==1.2.1 jiwer==4.0.0, and a Whisper model in CTranslate2's form.
Run:   python bench/echo/wer.py FOLDER_OF_WAVS MODEL_FOLDER TRANSCRIPTS
TRANSCRIPTS has a line for each near voice, in order of the file names.
"""

import re
import sys
from pathlib import Path

import jiwer
from faster_whisper import WhisperModel

folder, model_folder, transcripts = map(Path, sys.argv[1:4])
model = WhisperModel(str(model_folder), device="cpu", compute_type="int8", cpu_threads=1)
voices = [re.sub(r"<.*?>|\(.*?\)", "", line).strip() for line in transcripts.read_text().splitlines()]


def plain(text):
    return re.sub(r"[^a-z' ]+", " ", text.lower().replace("mr.", "mister").replace("-", " ")).split()


def heard(path):
    segments, _ = model.transcribe(str(path), language="en", beam_size=1, condition_on_previous_text=False)
    return plain(" ".join(segment.text for segment in segments))


kinds = sorted({path.name.split("-")[0] for path in folder.glob("*.txt")})
for kind in kinds:
    rates = {}
    for signal in ["clean", "raw", "linear", "suppressed", "sonora"]:
        said, written = [], []
        for text in sorted(folder.glob(f"{kind}-*.txt")):
            said.append(" ".join(plain(" ".join(voices[int(index)] for index in text.read_text().split()))))
            written.append(" ".join(heard(text.with_name(f"{text.stem}-{signal}.wav"))))
        rates[signal] = jiwer.wer(said, written)
    print(kind, " ".join(f"{signal} {rate:.3f}" for signal, rate in rates.items()), flush=True)
