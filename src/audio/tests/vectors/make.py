"""Makes the reference vectors of the tests beside it with onnxruntime. Run it again only if the sound changes.

    python3 make.py MODELS SILERO_V5 SILERO_V6 OPENWAKEWORD

MODELS: the folder of development models (`npm run models`); SILERO_V5, SILERO_V6: silero_vad.onnx of the packages
silero-vad 5.1.2 and 6.2.3; OPENWAKEWORD: a folder with melspectrogram.onnx and embedding_model.onnx. Needs numpy and
onnxruntime.

minute.rs puts the same minute together: a telephone call, a speech, synthetic music, silence, the call very softly.
"""

import sys
import wave
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).parent
RATE = 16_000
MIDDLE_C = 261.6256


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def read(path):
    with wave.open(str(path)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (RATE, 1, 2)
        return np.frombuffer(file.readframes(file.getnframes()), "<i2").astype(np.float32) / np.float32(32768)


def music():
    """Six seconds of chords with overtones, a bass and noise for drums."""
    noise = np.random.default_rng(7)
    out = np.zeros(6 * RATE)
    for beat in range(24):
        at = beat * RATE // 4
        time = np.arange(RATE // 2) / RATE
        fade = np.exp(-5 * time) * np.minimum(1, time * 200)
        chord = [(0, 4, 7), (9, 12, 16), (5, 9, 12), (7, 11, 14)][beat // 6]
        tone = sum(
            np.sin(2 * np.pi * MIDDLE_C * 2 ** (note / 12) * k * time + k) / k for note in chord for k in range(1, 6)
        )
        bass = np.sin(2 * np.pi * MIDDLE_C / 4 * 2 ** (chord[0] / 12) * time)
        drum = noise.standard_normal(len(time)) * np.exp(-40 * time)
        part = (0.1 * tone + 0.3 * bass + 0.2 * drum) * fade
        room = out[at : at + len(part)]
        room += part[: len(room)]
    return np.clip(out, -1, 1)


def write_music(path):
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, RATE, 0, "NONE", ""))
        file.writeframes((music() * 32767).astype("<i2").tobytes())


def minute(models):
    call, speech = read(models / "recordings/call.wav"), read(models / "recordings/speech.wav")
    softly = call[5 * RATE : 12 * RATE] * np.float32(0.02)
    silence = np.zeros(6 * RATE, np.float32)
    return np.concatenate([call, speech, read(HERE / "music.wav"), silence, softly])


def probabilities(path, sound):
    network = session(path)
    state, context = np.zeros((2, 1, 128), np.float32), np.zeros(64, np.float32)
    out = []
    for at in range(0, len(sound) - 511, 512):
        window = sound[at : at + 512]
        feed = {"input": np.concatenate([context, window])[None], "state": state, "sr": np.array(RATE, np.int64)}
        probability, state = network.run(None, feed)
        context = window[-64:]
        out.append(probability[0, 0])
    return np.array(out, np.float32)


def embeddings(folder, sound):
    """As openWakeWord streams: chunks of 80 ms with 30 ms before them, behind 76 frames of ones."""
    mel, embed = session(folder / "melspectrogram.onnx"), session(folder / "embedding_model.onnx")
    scaled = sound * np.float32(32768)
    frames = np.ones((76, 32), np.float32)
    out = []
    for at in range(0, len(scaled) - 1279, 1280):
        chunk = scaled[max(0, at - 480) : at + 1280]
        new = mel.run(None, {"input": chunk[None]})[0].reshape(-1, 32) / 10 + 2
        frames = np.concatenate([frames, new])[-76:]
        out.append(embed.run(None, {"input_1": frames[None, :, :, None]})[0].reshape(96))
    return np.array(out, np.float32)


def made_up(count, length):
    """Numbers between -15 and 15 that a test can make again: a linear congruential generator (Numerical Recipes)."""
    state, out = 1, np.empty(count * length, np.float32)
    for index in range(len(out)):
        state = (state * 1664525 + 1013904223) % 2**32
        out[index] = np.float32(state >> 8) / np.float32(1 << 24) * np.float32(30) - np.float32(15)
    return out.reshape(count, length)


def scores(models, features):
    """Each head on the embeddings of the minute, and on made-up ones, where the scores differ more."""
    out = []
    for name in ("alexa", "hey_jarvis", "hey_mycroft", "hey_rhasspy"):
        network = session(models / f"wake-words/{name}_v0.1.onnx")
        feed = network.get_inputs()[0].name
        windows = [features[end - 16 : end].reshape(-1) for end in range(16, len(features) + 1)]
        for window in [*windows, *made_up(200, 1536)]:
            out.append(network.run(None, {feed: window.reshape(1, 16, 96)})[0].reshape(()))
    return np.array(out, np.float32)


def main():
    models, v5, v6, wake = (Path(argument) for argument in sys.argv[1:])
    write_music(HERE / "music.wav")
    sound = minute(models)
    for name, path in (("vad-v5", v5), ("vad-v6", v6)):
        probabilities(path, sound).tofile(HERE / f"{name}.f32")
    features = embeddings(wake, sound)
    # A quarter of the embeddings is enough to compare, and all of them went into the scores.
    features[::4].tofile(HERE / "embeddings.f32")
    scores(models, features).tofile(HERE / "heads.f32")


if __name__ == "__main__":
    main()
