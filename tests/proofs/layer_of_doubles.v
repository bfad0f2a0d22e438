(* Lemma forward of models/mathematics.md in the double precision of the machine (IEEE 754, Flocq's binary64): the loop of
   kernels/reference/operations.hpp, forward(), executed bit by bit, gives the real numbers of forward.v as long as it stays
   finite (total map). theorems.sh holds it against that very loop. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core BinarySingleNaN Binary Bits.
From Holdfast Require Import forward.
Import ListNotations.

Definition machine_fma : binary64 -> binary64 -> binary64 -> binary64 := b64_fma mode_NE.
Definition zero64 : binary64 := B754_zero 53 1024 false.
Definition not_below0 (w : binary64) : bool := match b64_compare w zero64 with Some Lt | None => false | _ => true end.
(* weights and activations: lower, upper *)
Definition ends : Type := (binary64 * binary64) * (binary64 * binary64).
Fixpoint lower_end (terms : list ends) (sum : binary64) : binary64 :=
  match terms with [] => sum | ((wl, wu), (zl, zu)) :: rest => lower_end rest (machine_fma wl (if not_below0 wl then zl else zu) sum) end.
Fixpoint upper_end (terms : list ends) (sum : binary64) : binary64 :=
  match terms with [] => sum | ((wl, wu), (zl, zu)) :: rest => upper_end rest (machine_fma wu (if not_below0 wu then zu else zl) sum) end.
Notation finite := (is_finite 53 1024).
Notation real := (B2R 53 1024).
(* every sum on the way is finite *)
Fixpoint finite_below (terms : list ends) (sum : binary64) : Prop :=
  match terms with [] => True | ((wl, wu), (zl, zu)) :: rest => let s := machine_fma wl (if not_below0 wl then zl else zu) sum in
    finite s = true /\ finite_below rest s end.
Fixpoint finite_above (terms : list ends) (sum : binary64) : Prop :=
  match terms with [] => True | ((wl, wu), (zl, zu)) :: rest => let s := machine_fma wu (if not_below0 wu then zu else zl) sum in
    finite s = true /\ finite_above rest s end.
Definition finite_ends (t : ends) := let '((wl, wu), (zl, zu)) := t in finite wl = true /\ finite wu = true /\ finite zl = true /\ finite zu = true.
Definition boxes_of (terms : list ends) : list (box * box) :=
  map (fun t : ends => let '((wl, wu), (zl, zu)) := t in ({| lower := real wl; upper := real wu |}, {| lower := real zl; upper := real zu |})) terms.

Lemma fma_is_rounded x y z : finite x = true -> finite y = true -> finite z = true -> finite (machine_fma x y z) = true ->
  real (machine_fma x y z) = fma (-1074) 53 (real x) (real y) (real z).
Proof.
  intros Hx Hy Hz Hf. unfold machine_fma, b64_fma in *.
  pose proof (Bfma_correct 53 1024 eq_refl eq_refl ternop_nan_pl64 mode_NE x y z Hx Hy Hz) as C. cbv zeta in C.
  destruct (Rlt_bool _ _); [exact (proj1 C)|]. exfalso.
  destruct (Bfma 53 1024 eq_refl eq_refl ternop_nan_pl64 mode_NE x y z); simpl in C; try discriminate C; simpl in Hf; discriminate.
Qed.
Lemma not_below0_spec w : finite w = true -> not_below0 w = at_least0 (real w).
Proof.
  intros Hw. unfold not_below0, b64_compare. rewrite Bcompare_correct by (assumption || reflexivity). change (real zero64) with 0%R.
  unfold at_least0. destruct (Rcompare_spec (real w) 0), (Rle_dec 0 (real w)); reflexivity || lra.
Qed.

Theorem layer_of_doubles : forall terms sum, Forall finite_ends terms -> finite sum = true ->
  (finite_below terms sum -> real (lower_end terms sum) = forward_lower (-1074) 53 (boxes_of terms) (real sum)) /\
  (finite_above terms sum -> real (upper_end terms sum) = forward_upper (-1074) 53 (boxes_of terms) (real sum)).
Proof.
  induction terms as [|((wl, wu), (zl, zu)) terms IH]; intros sum F S; [split; reflexivity|].
  inversion_clear F as [|? ? Fe F2]. unfold finite_ends in Fe. destruct Fe as (Fwl & Fwu & Fzl & Fzu). cbn [lower_end upper_end finite_below finite_above boxes_of map forward_lower forward_upper lower upper]. split; intros (Hs & H).
  - destruct (IH _ F2 Hs) as (I & _). rewrite (I H). rewrite (not_below0_spec wl Fwl) in *. f_equal. rewrite fma_is_rounded; try assumption; [|destruct (at_least0 (real wl)); assumption].
    destruct (at_least0 (real wl)); reflexivity.
  - destruct (IH _ F2 Hs) as (_ & I). rewrite (I H). rewrite (not_below0_spec wu Fwu) in *. f_equal. rewrite fma_is_rounded; try assumption; [|destruct (at_least0 (real wu)); assumption].
    destruct (at_least0 (real wu)); reflexivity.
Qed.

(* For the program: bits of a term, of a bias and of both ends. *)
Definition of_bits (t : (Z * Z) * (Z * Z)) : ends := let '((a, b), (c, d)) := t in ((b64_of_bits a, b64_of_bits b), (b64_of_bits c, b64_of_bits d)).
Definition ends_of (terms : list ((Z * Z) * (Z * Z))) (bias : Z * Z) : Z * Z :=
  let t := map of_bits terms in (bits_of_b64 (lower_end t (b64_of_bits (fst bias))), bits_of_b64 (upper_end t (b64_of_bits (snd bias)))).

(* The machine's fma itself, against that loop with one input: numbers from a recursion that the program has too, and of what
   comes out a sum of 64 bits. Kinds of numbers: 0 of every size, infinities and NaNs among them; 1 products of which nothing is
   left but subnormal numbers, and those added; otherwise near 1, one in four with few bits, so that sums are halfway. *)
Open Scope Z_scope.
Definition word (x : Z) : Z := Z.land x 0xFFFFFFFFFFFFFFFF.
Definition next (s : Z) : Z := word (0x9E3779B5 * s + 0x14057B7EF767814F).
Definition operand (kind s : Z) : Z := let x := Z.lxor s (Z.shiftr s 29) in
  match kind with
  | 0 => x
  | 1 => Z.lor (Z.land x 0x83FFFFFFFFFFFFFF) 0x1C00000000000000
  | _ => match Z.shiftr s 62 with
    | 0 => Z.lor (Z.land x 0x83FFFF8000000000) 0x3C00000000000000
    | _ => Z.lor (Z.land x 0x83FFFFFFFFFFFFFF) 0x3C00000000000000 end
  end.
Definition number_of (r : binary64) : Z := match r with
  | B754_nan _ _ _ _ _ => 1
  | B754_infinity _ _ s => if s then 3 else 2
  | B754_zero _ _ s => if s then 5 else 4
  | B754_finite _ _ s m e _ => Zpos m + Z.shiftl (e + 2000) 53 + (if s then 6 else 0) end.
Fixpoint fma_sum (n : nat) (kind s : Z) (a b : binary64) (h : Z) : Z := match n with O => h | S n =>
  let s := next s in let next_b := b64_of_bits (operand kind s) in
  let added := match kind with 1 => b64_of_bits (Z.land s 0x801FFFFFFFFFFFFF) | _ => next_b end in
  fma_sum n kind s b next_b (word (5 * h + number_of (machine_fma a b added))) end.
Definition fma_sum_of (kind seed : Z) : Z := fma_sum 1000 kind seed zero64 zero64 0.
Close Scope Z_scope.

(* ---- An example, and a wrong statement refuted ---- *)
Definition one : binary64 := b64_of_bits 4607182418800017408.
Example layer_of_doubles_example : real (lower_end [((one, one), (one, one))] one) = forward_lower (-1074) 53 (boxes_of [((one, one), (one, one))]) (real one).
Proof.
  refine (proj1 (layer_of_doubles [((one, one), (one, one))] one _ _) _); [|vm_compute; reflexivity|split; [vm_compute; reflexivity|exact I]].
  constructor; [|constructor]. repeat split; vm_compute; reflexivity.
Qed.
(* Beyond the largest number the machine has an infinity, whose real number is 0. *)
Definition greatest64 : binary64 := b64_of_bits 9218868437227405311.
Fact layer_of_doubles_mutant : finite (lower_end [((greatest64, one), (greatest64, one))] one) = false.
Proof. vm_compute. reflexivity. Qed.
