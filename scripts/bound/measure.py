#!/usr/bin/env python3
"""How many instructions NVIDIA's own compiler needs for the arithmetic of graphics programs, beside Mesa's and ours.

usage: measure.py [--nvir PROGRAM] CORPUS STAGE...        (vert, tese, frag)

CORPUS holds tgsi/STAGE/*.tgsi and mesa-results.tsv with the columns file, front_end, stage, chipset, instructions and
compile_ok. Needs cicc, ptxas and nvdisasm of CUDA 11, the last that knows sm_35, in $CUDA_BIN (cicc also beside it), and gcc.
What is counted how: docs/graphics-size.md, "What NVIDIA's compiler makes of the same arithmetic"."""
import argparse, collections, csv, json, math, os, re, shutil, subprocess, sys, tempfile
from translate import PRELUDE, Skip, Translator

BATCH = 40


def tool(name):
    root = os.environ.get('CUDA_BIN', '')
    beside = ['', '../lib/nvidia-cuda-toolkit/bin', '../nvvm/bin']
    found = [p for p in (os.path.join(root, b, name) for b in beside) if root and os.access(p, os.X_OK)]
    found = found or [p for p in [shutil.which(name)] if p]
    if not found:
        sys.exit('SKIPPED: %s is neither in CUDA_BIN nor on PATH: nothing was measured' % name)
    return found[0]


def run(*args):
    p = subprocess.run(args, capture_output=True, text=True)
    if p.returncode:
        raise RuntimeError((p.stderr + p.stdout)[:300])
    return p.stdout


def compile_batch(programs, at):
    """The instructions of each kernel, by name."""
    source, text, ptx, cubin = (at + e for e in ('.c', '.ii', '.ptx', '.cubin'))
    open(source, 'w').write(PRELUDE + '\n'.join(t.kernel for _, t in programs))
    run('gcc', '-E', '-P', source, '-o', text)
    run(tool('cicc'), '--c++14', '-w', '-arch', 'compute_35', '-m64', '-ftz=1', '-prec_div=0', '-prec_sqrt=0', '-fmad=1', '-O3', text, '-o', ptx)
    textures = ''.join('.global .texref tex%d;\n' % i for i in range(32))
    whole = open(ptx).read().replace('.address_size 64\n', '.address_size 64\n' + textures, 1)
    open(ptx, 'w').write(whole)
    run(tool('ptxas'), '-arch=sm_35', '-O3', ptx, '-o', cubin)
    code, kernel = {}, None
    for line in run(tool('nvdisasm'), '-c', cubin).split('\n'):
        label = re.match(r'\.text\.(\w+):', line)
        kernel = label.group(1) if label else kernel
        m = re.match(r'\s*\{?\s*/\*[0-9a-f]{4,}\*/\s+\{?(.*?);', line)
        if m and kernel:
            code.setdefault(kernel, []).append(m.group(1).strip())
    return code


def compiled(programs, at):
    """The same; a program that is refused alone is left out."""
    try:
        return compile_batch(programs, at)
    except RuntimeError as e:
        if len(programs) == 1:
            print('%s: %s' % (programs[0][0], e), file=sys.stderr)
            return {}
        half = len(programs) // 2
        return compiled(programs[:half], at + 'a') | compiled(programs[half:], at + 'b')


def counts(code, t):
    """Instructions; those and one for each constant that ptxas puts into a buffer of its own; what nobody can leave out."""
    code = [c for c in code if 'MOV R1, c[0x0][0x44]' not in c]
    while code and re.match(r'NOP|BRA ', code[-1]):
        code.pop()
    ops = [re.sub(r'^@!?P\w+ ', '', c).split(' ')[0].split('.')[0] for c in code]
    # A fragment's results stay in registers; the inverse of w takes two instructions.
    outside = (2 if t.perspective else 0) - (ops.count('STS') if t.stage == 'FRAG' else 0)
    pool = len(set(re.findall(r'c\[0x2\]\[(0x[0-9a-f]+)\]', '\n'.join(code))))
    work = ops.count('FADD') + ops.count('FMUL') + ops.count('FMUL32I') + ops.count('FADD32I') + 2 * ops.count('FFMA')
    needed = sum(o in ('LDS', 'TEX', 'STS', 'MUFU', 'EXIT') for o in ops) + (work + 1) // 2
    return len(code) + outside, len(code) + outside + pool, needed + outside


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / max(1, len(ratios)))


def stage(corpus, name, nvir, folder):
    rows = csv.DictReader(open(os.path.join(corpus, 'mesa-results.tsv')), delimiter='\t', quoting=csv.QUOTE_NONE)
    mine = [r for r in rows if (r['front_end'], r['stage'], r['chipset'], r['compile_ok']) == ('tgsi', name, 'f0', '1')]
    mesa = {os.path.basename(r['file']): int(r['instructions']) for r in mine}
    at = os.path.join(corpus, 'tgsi', name)
    rows = json.loads(run(nvir, 'stats', '-t', 'gk110', '--json', at))
    rows = rows['rows'] if isinstance(rows, dict) else rows
    ours = {os.path.basename(r['input']): r['instructions'] for r in rows if r['ok']}
    programs, skipped = [], collections.Counter()
    for n, file in enumerate(sorted(mesa.keys() & ours.keys())):
        try:
            programs.append((file, Translator(open(os.path.join(at, file)).read(), 'k%d' % n)))
        except Skip as e:
            skipped[str(e)] += 1
    code = {}
    for b in range(0, len(programs), BATCH):
        code |= compiled(programs[b:b + BATCH], os.path.join(folder, '%s%d' % (name, b)))
    table = [(f, *counts(code[t.name], t), mesa[f], ours[f]) for f, t in programs if t.name in code]
    if not table:
        sys.exit('%s: no program could be compared' % name)
    ratio = lambda get: mean([get(*row[1:]) for row in table])
    print('%s: %d programs; left out: %s' % (name, len(table), ', '.join('%s (%d)' % s for s in skipped.most_common()) or 'none'))
    print('  ptxas/Mesa %.3f, without its constants %.3f; ours/Mesa %.3f; ours/ptxas %.3f; the shorter of both/Mesa %.3f' % (
        ratio(lambda p, q, n, m, o: p / m), ratio(lambda p, q, n, m, o: q / m), ratio(lambda p, q, n, m, o: o / m),
        ratio(lambda p, q, n, m, o: o / q), ratio(lambda p, q, n, m, o: min(o, q) / m)))
    print('  ptxas shorter in %d, equal in %d, longer in %d; loads, stores, samples, functions and half the arithmetic %.3f of Mesa\'s' % (
        sum(r[2] < r[5] for r in table), sum(r[2] == r[5] for r in table), sum(r[2] > r[5] for r in table),
        ratio(lambda p, q, n, m, o: n / m)))
    for file, p, q, _, m, o in sorted(table, key=lambda r: r[2] / r[5])[:15]:
        print('    %.2f  ptxas %d  Mesa %d  ours %d  %s' % (q / o, q, m, o, file))


if __name__ == '__main__':
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--nvir', default='target/release/nvir')
    ap.add_argument('corpus')
    ap.add_argument('stages', nargs='+', choices=['vert', 'tese', 'frag'])
    a = ap.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in a.stages:
            stage(a.corpus, name, a.nvir, folder)
