"""TGSI of graphics stages as CUDA C that does the same arithmetic, for `measure.py`.

Inputs and outputs lie in shared memory, constant buffers in constant memory. Whatever has no counterpart is left out in
favour of the C compiler (a slot takes one load and one store, however it is used), so that what comes out is a lower bound
for a program with attributes rather than an estimate. What cannot be said so raises `Skip`."""
import re


class Skip(Exception):
    """The program uses something that has no counterpart."""


PRELUDE = r'''
typedef unsigned u;
#define DV extern "C" __attribute__((device)) __attribute__((always_inline)) inline
struct uint4 { u x,y,z,w; } __attribute__((aligned(16)));
DV u F(float x){return __nvvm_bitcast_f2i(x);}
DV float f(u x){return __nvvm_bitcast_i2f(x);}
DV float ex2(float x){return __nvvm_ex2_approx_ftz_f(x);}
DV float lg2(float x){return __nvvm_lg2_approx_ftz_f(x);}
DV float sin_(float x){return __nvvm_sin_approx_ftz_f(x);}
DV float cos_(float x){return __nvvm_cos_approx_ftz_f(x);}
DV float rsq(float x){return __nvvm_rsqrt_approx_ftz_f(x);}
DV float root(float x){return __nvvm_sqrt_approx_ftz_f(x);}
DV float fmax_(float x,float y){return __nvvm_fmax_ftz_f(x,y);}
DV float fmin_(float x,float y){return __nvvm_fmin_ftz_f(x,y);}
DV float abs_(float x){return __nvvm_fabs_ftz_f(x);}
DV float floor_(float x){return __nvvm_floor_ftz_f(x);}
DV float ceil_(float x){return __nvvm_ceil_ftz_f(x);}
DV float trunc_(float x){return __nvvm_trunc_ftz_f(x);}
DV float round_(float x){return __nvvm_round_ftz_f(x);}
DV float sat(float x){return __nvvm_saturate_ftz_f(x);}
DV int imax(int a,int b){return a>b?a:b;}
DV int imin(int a,int b){return a<b?a:b;}
DV u umax(u a,u b){return a>b?a:b;}
DV u umin(u a,u b){return a<b?a:b;}
DV int iabs(int a){return a<0?-a:a;}
DV u bfe(u a,u b,u c){u d;asm("bfe.u32 %0, %1, %2, %3;":"=r"(d):"r"(a),"r"(b),"r"(c));return d;}
#define K extern "C" __attribute__((constant)) uint4
K C0[1024]; K C1[1024]; K C2[512]; K C3[512]; K C4[256]; K C5[128];
extern "C" { extern __attribute__((shared)) uint4 S[]; }
'''

# One instruction's result by its operands: {0} and so on as floats, <0> as words.
FLOAT = {
    'MUL': '{0}*{1}', 'ADD': '{0}+{1}', 'MAX': 'fmax_({0},{1})', 'MIN': 'fmin_({0},{1})', 'DIV': '{0}*(1.0f/({1}))',
    'MAD': '{0}*{1}+{2}', 'FMA': '{0}*{1}+{2}', 'LRP': '{0}*({1}-{2})+{2}', 'FLR': 'floor_({0})', 'CEIL': 'ceil_({0})',
    'TRUNC': 'trunc_({0})', 'ROUND': 'round_({0})', 'FRC': '{0}-floor_({0})', 'ABS': 'abs_({0})', 'I2F': '(float)(int)(<0>)',
    'U2F': '(float)(<0>)', 'SSG': '(({0}>0.f?1.f:0.f)-({0}<0.f?1.f:0.f))',
}
# The same of the first component alone.
SCALAR = {
    'RCP': '(1.0f/({0}))', 'RSQ': 'rsq({0})', 'SQRT': 'root({0})', 'EX2': 'ex2({0})', 'LG2': 'lg2({0})', 'SIN': 'sin_({0})',
    'COS': 'cos_({0})', 'POW': 'ex2(lg2({0})*{1})',
}
DOT = {'DP2': 2, 'DP3': 3, 'DP4': 4}
WORD = {
    'UADD': '<0>+<1>', 'UMUL': '<0>*<1>', 'AND': '<0>&<1>', 'OR': '<0>|<1>', 'XOR': '<0>^<1>', 'SHL': '<0><<<1>',
    'USHR': '<0>>><1>', 'ISHR': '(u)((int)(<0>)>><1>)', 'UCMP': '<0>?<1>:<2>', 'NOT': '~<0>', 'INEG': '0u-<0>',
    'IABS': '(u)iabs((int)(<0>))', 'IMAX': '(u)imax((int)(<0>),(int)(<1>))', 'IMIN': '(u)imin((int)(<0>),(int)(<1>))',
    'UMAX': 'umax(<0>,<1>)', 'UMIN': 'umin(<0>,<1>)', 'ISSG': '(u)imax(-1,imin(1,(int)(<0>)))', 'F2I': '(u)(int)({0})',
    'F2U': '(u)({0})', 'UBFE': 'bfe(<0>,<1>,<2>)', 'UMAD': '<0>*<1>+<2>', 'UARL': '<0>', 'ARL': '(u)(int)floor_({0})',
}
for _name, _test in (('LT', '<'), ('GE', '>='), ('EQ', '=='), ('NE', '!=')):
    WORD['FS' + _name] = '({0}' + _test + '{1})?~0u:0u'
    WORD['US' + _name] = '(<0>' + _test + '<1>)?~0u:0u'
    WORD['IS' + _name] = '((int)(<0>)' + _test + '(int)(<1>))?~0u:0u'
COORDINATES = {'1D': 1, '2D': 2, 'RECT': 2, '3D': 3, 'CUBE': 3, 'SHADOW2D': 2, 'SHADOWRECT': 2, 'SHADOW1D': 1, '1D_ARRAY': 1,
               '2D_ARRAY': 2, 'SHADOW2D_ARRAY': 2, 'SHADOW1D_ARRAY': 1}
OPERAND = re.compile(r'^(\w+)((?:\[(?:[^\[\]]|\[[^\]]*\])*\])+)(?:\(\d+\))?(?:\.([xyzw]+))?$')
SYSTEM = ['VERTEXID', 'INSTANCEID', 'PRIM_ID']


def operands(text):
    """Splits a list at its commas outside of brackets."""
    parts, depth = [''], 0
    for ch in text:
        depth += (ch == '[') - (ch == ']')
        if ch == ',' and not depth:
            parts.append('')
        else:
            parts[-1] += ch
    return [p.strip() for p in parts if p.strip()]


class Translator:
    """One program; `kernel` is the text, and the other fields say what stands for attributes in it."""

    def __init__(self, text, name):
        self.lines = text.replace('\r', '').split('\n')
        self.stage, self.name = self.lines[0].strip(), name
        self.immediates, self.systems, self.modes = {}, {}, {}
        self.body, self.variables, self.inputs = [], set(), {}
        self.perspective, self.stores = False, 0
        self.kernel = self.translate()

    def translate(self):
        for line in self.lines[1:]:
            if 'CLIPVERTEX' in line:
                raise Skip('clip vertex')
            instruction = re.match(r'^\s*\d+:\s*(\w+)\s*(.*)$', line)
            if line.startswith('IMM'):
                n, values = re.match(r'IMM\[(\d+)\]\s*\w+\s*\{(.*)\}', line).groups()
                if '.' in values:
                    raise Skip('immediates in decimal')
                self.immediates[int(n)] = [int(x, 0) & 0xffffffff for x in values.split(',')]
            elif line.startswith('DCL SV['):
                n, meaning = re.match(r'DCL SV\[(\d+)\](?:\.\w+)?, (\w+)', line).groups()
                self.systems[int(n)] = meaning
            elif line.startswith('DCL IN[') and self.stage == 'FRAG':
                first, last, mode = re.match(r'DCL IN\[(\d+)(?:\.\.(\d+))?\](?:\.\w+)?, [^,]+(?:, (.*))?', line).groups()
                for n in range(int(first), int(last or first) + 1):
                    self.modes[n] = mode or ''
            elif instruction:
                self.instruction(instruction.group(1), operands(re.sub(r'\s*:\d+\s*$', '', instruction.group(2))))
        return self.text()

    def source(self, text, c, word):
        """Component `c` of a source as a word, or as a float."""
        text = text.replace(' ', '')
        negated = text.startswith('-')
        absolute = '|' in text
        m = OPERAND.match(text.lstrip('-').replace('|', ''))
        if not m:
            raise Skip('source ' + text)
        file, index, swizzle = m.groups()
        swizzle = (swizzle or 'xyzw') + (swizzle or 'w')[-1] * 4
        value = self.read(file, re.findall(r'\[((?:[^\[\]]|\[[^\]]*\])*)\]', index), swizzle[c])
        if word:
            if absolute:
                raise Skip('absolute value of a word')
            return '(0u-%s)' % value if negated else value
        value = 'f(%s)' % value
        value = 'abs_(%s)' % value if absolute else value
        return '(-%s)' % value if negated else value

    def read(self, file, index, c):
        last = index[-1]
        if file == 'IMM':
            return '%du' % (self.immediates[int(last)] + [0] * 3)['xyzw'.index(c)]
        if file == 'CONST':
            bank = index[0] if len(index) > 1 else '0'
            if not bank.isdigit() or int(bank) > 5:
                raise Skip('constant buffer')
            if last.isdigit():
                return 'C%s[%s].%s' % (bank, last, c)
            m = re.match(r'^(ADDR|TEMP)\[(\d+)\]\.([xyzw])([+-]\d+)?$', last)
            if not m:
                raise Skip('index')
            return 'C%s[%s%s].%s' % (bank, self.read(m.group(1), [m.group(2)], m.group(3)), m.group(4) or '', c)
        if not all(n.isdigit() for n in index):
            raise Skip('computed index of ' + file)
        if file in ('TEMP', 'ADDR', 'OUT'):
            return self.variable(file, int(last), c)
        if file == 'IN':
            self.inputs.setdefault(tuple(map(int, index)), set()).add(c)
            return 'in%s%s' % ('_'.join(index), c)
        if file == 'SV' and self.systems[int(last)] in SYSTEM + ['TESSCOORD']:
            meaning = self.systems[int(last)]
            c = c if meaning == 'TESSCOORD' else 'x'
            self.inputs.setdefault(meaning, set()).add(c)
            return 'sv_%s%s' % (meaning, c)
        raise Skip('file ' + file)

    def variable(self, file, n, c):
        name = {'TEMP': 't', 'ADDR': 'a', 'OUT': 'o'}[file] + '%d%s' % (n, c)
        self.variables.add(name)
        return name

    def filled(self, pattern, sources, c):
        """A pattern with component `c` of the sources."""
        def one(m):
            return self.source(sources[int(m.group(1) or m.group(2))], c, m.group(2) is not None)
        return re.sub(r'\{(\d)\}|<(\d)>', one, pattern)

    def instruction(self, op, args):
        op = op.removesuffix('_PRECISE')
        flow = {'ELSE': '} else {', 'ENDIF': '}', 'ENDLOOP': '}', 'BGNLOOP': '_Pragma("unroll 1") for(;;) {', 'BRK': 'break;',
                'CONT': 'continue;', 'END': '', 'KILL': 'asm volatile("exit;");'}
        if op in flow:
            self.body.append(flow[op])
        elif op in ('UIF', 'IF'):
            test = self.source(args[0], 0, True) if op == 'UIF' else self.source(args[0], 0, False) + '!=0.f'
            self.body.append('if (%s) {' % test)
        elif op == 'KILL_IF':
            for value in dict.fromkeys(self.source(args[0], c, False) for c in range(4)):
                self.body.append('if (%s < 0.f) asm volatile("exit;");' % value)
        else:
            saturated = op.endswith('_SAT')
            self.assignment(op.removesuffix('_SAT'), args[0].replace(' ', ''), args[1:], saturated)

    def assignment(self, op, target, sources, saturated):
        m = re.match(r'^(\w+)\[(\d+)\](?:\(\d+\))?(?:\.([xyzw]+))?$', target)
        if not m:
            raise Skip('computed destination')
        file, n, mask = m.group(1), int(m.group(2)), m.group(3) or 'xyzw'
        if op in ('TEX', 'TXP', 'TXL', 'TXB'):
            values = {c: 'F(%s)' % c for c in mask}
            self.body.append('{float x,y,z,w; %s' % self.texture(op, sources))
        else:
            values = {c: self.value(op, sources, 'xyzw'.index(c), saturated) for c in mask}
            self.body.append('{')
        # All is read before anything is written.
        self.body.append('u ' + ', '.join('r%s=%s' % v for v in values.items()) + ';')
        self.body.append(' '.join('%s=r%s;' % (self.variable(file, n, c), c) for c in mask) + '}')

    def value(self, op, sources, c, saturated):
        if op == 'MOV' and not saturated and sources[0][0] not in '-|':
            return self.source(sources[0], c, True)
        if op in WORD:
            return self.filled(WORD[op], sources, c)
        if op == 'MOV':
            value = self.source(sources[0], c, False)
        elif op in FLOAT:
            value = self.filled(FLOAT[op], sources, c)
        elif op in SCALAR:
            value = self.filled(SCALAR[op], sources, 0)
        elif op in DOT:
            value = '+'.join(self.filled('{0}*{1}', sources, k) for k in range(DOT[op]))
        else:
            raise Skip('opcode ' + op)
        return 'F(sat(%s))' % value if saturated else 'F(%s)' % value

    def texture(self, op, sources):
        """A sample into x, y, z and w. What depth is compared with stands where a level does: it takes a register as well."""
        shape, sampler = sources[-1], re.search(r'\[(\d+)\]', sources[1])
        if shape not in COORDINATES or not sampler:
            raise Skip('texture ' + shape)
        n, array = COORDINATES[shape], shape.endswith('ARRAY')
        of = lambda c: self.source(sources[0], c, False) + ('*(1.0f/%s)' % self.source(sources[0], 3, False) if op == 'TXP' else '')
        level = of(3 if shape == 'SHADOW2D_ARRAY' else 2) if shape.startswith('SHADOW') else None
        if op in ('TXL', 'TXB'):
            if level:
                raise Skip('depth with a level')
            level = of(3)
        values = [('f', of(c)) for c in range(n)]
        vector = ['%%%d' % (4 + k) for k in range(n)]
        if array:
            vector.insert(0, '%%%d' % (4 + len(values)))
            values.append(('r', '(u)round_(%s)' % of(n)))
        vector += ['%4'] * (len(vector) == 3)
        if level:
            values.append(('f', level))
        form = 'cube' if shape == 'CUBE' else 'a' * array + '%dd' % n
        return 'asm("tex%s.%s.v4.f32.f32 {%%0,%%1,%%2,%%3}, [tex%s, {%s}]%s;":"=f"(x),"=f"(y),"=f"(z),"=f"(w):%s);' % (
            '.level' if level else '', form, sampler.group(1), ','.join(vector),
            ', %%%d' % (3 + len(values)) if level else '', ','.join('"%s"(%s)' % v for v in values))

    def loads(self):
        """Vertex and patch attributes as one load a slot, interpolated ones as one a component."""
        lines = ['u h%d = ((u*)S)[%d];' % (v, 8192 + 4 * v) for v in sorted({k[0] for k in self.inputs if len(k) == 2})]
        for key in sorted(self.inputs, key=str):
            components = sorted(self.inputs[key])
            if key == 'TESSCOORD':
                lines.append('u lane; asm("mov.u32 %0, %%laneid;":"=r"(lane));')
                lines += ['u sv_TESSCOORD%s = *(u*)((char*)S+%d+lane);' % (c, 40000 + 1000 * k) for k, c in enumerate('xy')]
                lines.append('u sv_TESSCOORDz = F(1.0f-(f(sv_TESSCOORDx)+f(sv_TESSCOORDy)));')
            elif isinstance(key, str):
                lines.append('u sv_%sx = ((u*)S)[%d];' % (key, 6000 + 16 * SYSTEM.index(key)))
            elif self.stage == 'FRAG':
                self.perspective |= 'PERSPECTIVE' in self.modes[key[0]] or self.modes[key[0]] == 'COLOR'
                lines += ['u in%d%s = ((u*)S)[%d];' % (key[0], c, (key[0] * 4 + 'xyzw'.index(c)) * 8) for c in components]
            else:
                name = '_'.join(map(str, key))
                place = 'S[%d]' % key if len(key) == 1 else '*(uint4*)((char*)S+h%d+%d)' % (key[0], key[1] * 16 + 1024)
                lines.append('uint4 q%s = %s;' % (name, place))
                lines += ['u in%s%s = q%s.%s;' % (name, c, name, c) for c in components]
        return lines

    def text(self):
        written, lines = {}, self.loads()
        for v in self.variables:
            if v[0] == 'o':
                written.setdefault(int(v[1:-1]), set()).add(v[-1])
        lines.append('u %s;' % ', '.join(sorted(self.variables) + ['none']))
        lines += self.body
        for n, components in sorted(written.items()):
            used = ''.join(sorted(components, key='xyzw'.index))
            slots = used if used in ('x', 'y', 'z', 'w', 'xy', 'zw') else 'xyzw'
            width = {1: '', 2: '.v2', 4: '.v4'}[len(slots)]
            places = ','.join('%%%d' % k for k in range(len(slots)))
            values = ','.join('"r"(%s)' % ('o%d%s' % (n, c) if c in components else 'none') for c in slots)
            lines.append('asm volatile("st.shared%s.u32 [S+%d], {%s};"::%s);' % (width, (1000 + n) * 16, places, values))
        self.stores = len(written)
        return 'extern "C" __attribute__((global)) void %s() {\n%s\n}\n' % (self.name, '\n'.join(lines))
